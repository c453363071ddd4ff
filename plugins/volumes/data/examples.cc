#include "data/examples.h"

#include <ATen/ops/zeros.h>

#include <array>
#include <utility>

#include <medley/task/drivers/labels.h>

#include "data/brain.h"

namespace medley_volumes {
namespace {

using medley::BalancedLabel;
using medley::Row;
using medley::RowRandom;

constexpr std::array<const char*, kLevels> kSizes = {"tiny", "small", "medium", "large", "huge"},
                                           kThickness = {"very thin", "thin", "normal", "thick",
                                                         "very thick"};
constexpr std::array<const char*, 3> kLarger = {"left", "neither", "right"};
constexpr std::array<const char*, kRhythms> kSpeeds = {"slow", "medium", "fast"};
constexpr std::array<const char*, 3> kAgreement = {"the scans agree", "the ventricles differ",
                                                   "the cortex differs"};
constexpr std::array<const char*, 5> kChanges = {"nothing has changed", "the ventricles have grown",
                                                 "the ventricles have shrunk", "the cortex is thicker",
                                                 "the cortex is thinner"};
constexpr std::array<const char*, 4> kSingleQuestions = {
    " how large are the ventricles?", " how thick is the cortex?", " where does a lesion lie?",
    " which ventricle is the larger one?"};
constexpr std::array<int, 4> kSingleAnswers = {kLevels, kLevels, kOctants + 1, 3};
constexpr const char *kAgree = " do the two scans show one brain?",
                     *kWhichRhythm = " how fast is the rhythm where the lesion lies?",
                     *kReference = " remember this scan.", *kReferences = " remember these scans.",
                     *kAcknowledged = " noted.", *kWhatChanged = " what has changed in this one?";

std::string OctantWords(int octant) {
  std::string words = (octant & 4) != 0 ? "upper" : "lower";
  words += (octant & 2) != 0 ? " front" : " back";
  return words + ((octant & 1) != 0 ? " right" : " left");
}

std::string SingleAnswer(std::size_t question, int label) {
  const auto index = static_cast<std::size_t>(label);
  if (question == 0) return std::string(" the ventricles are ") + kSizes[index];
  if (question == 1) return std::string(" the cortex is ") + kThickness[index];
  if (question == 2) return label == kOctants ? " there is none" : " it is " + OctantWords(label);
  return std::string(" ") + kLarger[index];
}

Scan VolumeOf(const Brain& brain, Contrast contrast, RowRandom& random, const Geometry& geometry) {
  return {Modality::kVolume, [=, scan = RowRandom(random.Bits()), side = geometry.volume_side] {
            return MakeVolume(brain, contrast, scan, side);
          }};
}

Scan SeriesOf(const Brain& brain, RowRandom& random, const Geometry& geometry) {
  return {Modality::kSeries, [=, scan = RowRandom(random.Bits())] {
            return MakeSeries(brain, scan, geometry.series_side, geometry.frames);
          }};
}

int Level(RowRandom& random) { return static_cast<int>(random.Below(kLevels)); }

Brain DrawBrain(Row& row) {
  RowRandom& random = row.random;
  Brain brain{.subject = DrawSubject(row.split(), random)};
  brain.ventricles = Level(random);
  brain.cortex = Level(random);
  if (random.Coin()) brain.lesion = static_cast<int>(random.Below(kOctants));
  brain.asymmetry = static_cast<int>(random.Below(3)) - 1;
  brain.rhythms[0] = static_cast<int>(random.Below(kRhythms));
  brain.rhythms[1] = static_cast<int>((brain.rhythms[0] + 1 + random.Below(kRhythms - 1)) % kRhythms);
  return brain;
}

Turn Says(Role role, std::string text) { return {role, {std::move(text)}}; }

Conversation AboutSubject(const Brain& brain) {
  Conversation conversation;
  conversation.subject = "s" + std::to_string(brain.subject);
  return conversation;
}

Conversation Agreement(Row& row, const Geometry& geometry) {
  const Pair pair = DrawAgreement(row);
  Conversation conversation = AboutSubject(pair.first);
  conversation.turns = {
      {Role::kUser,
       {VolumeOf(pair.first, Contrast::kFluidDark, row.random, geometry),
        VolumeOf(pair.second, Contrast::kFluidBright, row.random, geometry), kAgree}},
      Says(Role::kAssistant, std::string(" ") + kAgreement[static_cast<std::size_t>(pair.label)])};
  conversation.one_scan = kMultimodalChance;
  return conversation;
}

Conversation Rhythm(Row& row, const Geometry& geometry) {
  const auto [brain, label] = DrawRhythm(row);
  Conversation conversation = AboutSubject(brain);
  conversation.turns = {{Role::kUser,
                         {VolumeOf(brain, Contrast::kFluidDark, row.random, geometry),
                          VolumeOf(brain, Contrast::kFluidBright, row.random, geometry),
                          SeriesOf(brain, row.random, geometry), kWhichRhythm}},
                        Says(Role::kAssistant, std::string(" ") + kSpeeds[static_cast<std::size_t>(label)])};
  conversation.one_scan = 0.5;
  return conversation;
}

Scan Blank(const Geometry& geometry) {
  return {Modality::kVolume, [shape = geometry.Shape(Modality::kVolume)] { return at::zeros(shape); }};
}

}  // namespace

Conversation SingleExample(Row& row, const Geometry& geometry) {
  Brain brain = DrawBrain(row);
  const auto question = static_cast<std::size_t>(row.number % std::ssize(kSingleQuestions));
  const int label = BalancedLabel(row.number / std::ssize(kSingleQuestions), kSingleAnswers[question]);
  if (question == 0) brain.ventricles = label;
  if (question == 1) brain.cortex = label;
  if (question == 2) brain.lesion = label == kOctants ? kNoLesion : label;
  if (question == 3) brain.asymmetry = label - 1;
  const Contrast contrast = row.random.Coin() ? Contrast::kFluidDark : Contrast::kFluidBright;
  Conversation conversation = AboutSubject(brain);
  conversation.turns = {
      {Role::kUser, {VolumeOf(brain, contrast, row.random, geometry), kSingleQuestions[question]}},
      Says(Role::kAssistant, SingleAnswer(question, label))};
  conversation.one_scan = 1;
  return conversation;
}

// A level turns by 1 to 4 of 5, so that each scan alone has every level equally often.
Pair DrawAgreement(Row& row) {
  Pair pair{.first = DrawBrain(row), .second = {}, .label = BalancedLabel(row.number, 3)};
  pair.second = pair.first;
  const int turn = 1 + static_cast<int>(row.random.Below(kLevels - 1));
  if (pair.label == 1) pair.second.ventricles = (pair.first.ventricles + turn) % kLevels;
  if (pair.label == 2) pair.second.cortex = (pair.first.cortex + turn) % kLevels;
  return pair;
}

Rhythmic DrawRhythm(Row& row) {
  Rhythmic drawn{.brain = DrawBrain(row), .label = BalancedLabel(row.number, kRhythms)};
  Brain& brain = drawn.brain;
  brain.lesion = static_cast<int>(row.random.Below(kOctants));
  const auto half = static_cast<std::size_t>(brain.lesion & 1);
  brain.rhythms[half] = drawn.label;
  brain.rhythms[1 - half] = static_cast<int>((drawn.label + 1 + row.random.Below(kRhythms - 1)) % kRhythms);
  return drawn;
}

Conversation MultimodalExample(Row& row, const Geometry& geometry, double series) {
  const bool has_series = row.longest() ? series > 0 : row.random.Uniform() < series;
  return has_series ? Rhythm(row, geometry) : Agreement(row, geometry);
}

// The levels after the change are 1 to 3, whatever the answer; those before it differ from them. Of the 45
// pairs of levels and answers 21 levels are left before the change, and each has one best answer.
Pair DrawChange(Row& row) {
  constexpr int kInner = kLevels - 2;
  Pair pair{.first = {}, .second = DrawBrain(row), .label = BalancedLabel(row.number, 5)};
  pair.second.ventricles = 1 + static_cast<int>(row.random.Below(kInner));
  pair.second.cortex = 1 + static_cast<int>(row.random.Below(kInner));
  pair.first = pair.second;
  pair.first.ventricles += pair.label == 2 ? 1 : pair.label == 1 ? -1 : 0;
  pair.first.cortex += pair.label == 4 ? 1 : pair.label == 3 ? -1 : 0;
  return pair;
}

Conversation CompareExample(Row& row, const Geometry& geometry, std::int64_t references, bool blank) {
  const Pair pair = DrawChange(row);
  const std::int64_t count = row.longest() ? references : 1 + row.random.Below(references);
  Turn shown{Role::kUser, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const Scan scan = VolumeOf(pair.first, Contrast::kFluidDark, row.random, geometry);
    shown.items.emplace_back(blank ? Blank(geometry) : scan);
  }
  shown.items.emplace_back(count == 1 ? kReference : kReferences);
  Conversation conversation = AboutSubject(pair.second);
  conversation.turns = {
      std::move(shown),
      Says(Role::kAssistant, kAcknowledged),
      {Role::kUser, {VolumeOf(pair.second, Contrast::kFluidDark, row.random, geometry), kWhatChanged}},
      Says(Role::kAssistant, std::string(" ") + kChanges[static_cast<std::size_t>(pair.label)])};
  conversation.one_scan = 21.0 / 45;
  return conversation;
}

std::vector<std::string> ExampleTexts() {
  std::vector<std::string> texts = {kAgree,      kWhichRhythm,  kReference,
                                    kReferences, kAcknowledged, kWhatChanged};
  for (std::size_t question = 0; question < kSingleQuestions.size(); ++question) {
    texts.emplace_back(kSingleQuestions[question]);
    for (int label = 0; label < kSingleAnswers[question]; ++label)
      texts.push_back(SingleAnswer(question, label));
  }
  for (const char* text : kSpeeds) texts.push_back(std::string(" ") + text);
  for (const char* text : kAgreement) texts.push_back(std::string(" ") + text);
  for (const char* text : kChanges) texts.push_back(std::string(" ") + text);
  return texts;
}

}  // namespace medley_volumes
