#include "data/examples.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
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

const char* RememberWords(std::int64_t scans) { return scans == 1 ? kReference : kReferences; }

// Further scans of the first brain go before the two.
Conversation Agreement(Row& row, const Geometry& geometry, std::int64_t images) {
  const Pair pair = DrawAgreement(row);
  Turn asked{Role::kUser, {}};
  const auto show = [&](const Brain& brain, Contrast contrast) {
    asked.items.emplace_back(VolumeOf(brain, contrast, row.random, geometry));
  };
  for (std::int64_t i = 2; i < images; ++i) show(pair.first, Contrast::kFluidDark);
  if (images > 2) asked.items.emplace_back(RememberWords(images - 2));
  show(pair.first, Contrast::kFluidDark);
  show(pair.second, Contrast::kFluidBright);
  asked.items.emplace_back(kAgree);
  Conversation conversation = AboutSubject(pair.first);
  conversation.turns = {
      std::move(asked),
      Says(Role::kAssistant, std::string(" ") + kAgreement[static_cast<std::size_t>(pair.label)])};
  conversation.one_scan = kMultimodalChance;
  return conversation;
}

Conversation Rhythm(Row& row, const Geometry& geometry, std::int64_t images) {
  const auto [brain, label] = DrawRhythm(row);
  Turn asked{Role::kUser, {}};
  for (std::int64_t i = 1; i < images; ++i)
    asked.items.emplace_back(
        VolumeOf(brain, i % 2 == 1 ? Contrast::kFluidDark : Contrast::kFluidBright, row.random, geometry));
  asked.items.emplace_back(SeriesOf(brain, row.random, geometry));
  asked.items.emplace_back(kWhichRhythm);
  Conversation conversation = AboutSubject(brain);
  conversation.turns = {std::move(asked),
                        Says(Role::kAssistant, std::string(" ") + kSpeeds[static_cast<std::size_t>(label)])};
  conversation.one_scan = 0.5;
  return conversation;
}

Scan Blank(const Geometry& geometry) {
  return {Modality::kVolume, [shape = geometry.Shape(Modality::kVolume)] { return at::zeros(shape); }};
}

}  // namespace

Conversation SingleExample(Row& row, const Geometry& geometry, std::int64_t images) {
  Brain brain = DrawBrain(row);
  const auto question = static_cast<std::size_t>(row.number % std::ssize(kSingleQuestions));
  const int label = BalancedLabel(row.number / std::ssize(kSingleQuestions), kSingleAnswers[question]);
  if (question == 0) brain.ventricles = label;
  if (question == 1) brain.cortex = label;
  if (question == 2) brain.lesion = label == kOctants ? kNoLesion : label;
  if (question == 3) brain.asymmetry = label - 1;
  Turn asked{Role::kUser, {}};
  for (std::int64_t i = 0; i < std::max<std::int64_t>(images, 1); ++i) {
    const Contrast contrast = row.random.Coin() ? Contrast::kFluidDark : Contrast::kFluidBright;
    asked.items.emplace_back(VolumeOf(brain, contrast, row.random, geometry));
  }
  asked.items.emplace_back(kSingleQuestions[question]);
  Conversation conversation = AboutSubject(brain);
  conversation.turns = {std::move(asked), Says(Role::kAssistant, SingleAnswer(question, label))};
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

Conversation MultimodalExample(Row& row, const Geometry& geometry, double series, std::int64_t images) {
  const bool is_either = images > 0 && series > 0 && series < 1;
  const bool is_longest_with_series = is_either ? row.number % 2 == 0 : series > 0;
  const bool has_series = row.longest() ? is_longest_with_series : row.random.Uniform() < series;
  if (has_series) return Rhythm(row, geometry, images == 0 ? 3 : images);
  return Agreement(row, geometry, images == 0 ? 2 : images);
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

Conversation CompareExample(Row& row, const Geometry& geometry, std::int64_t references, bool blank,
                            std::int64_t images) {
  const Pair pair = DrawChange(row);
  const bool is_given = images > 0 || row.longest();
  const std::int64_t most = images > 0 ? images - 1 : references;
  const std::int64_t count = is_given ? most : 1 + row.random.Below(most);
  Turn shown{Role::kUser, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const Scan scan = VolumeOf(pair.first, Contrast::kFluidDark, row.random, geometry);
    shown.items.emplace_back(blank ? Blank(geometry) : scan);
  }
  shown.items.emplace_back(RememberWords(count));
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
