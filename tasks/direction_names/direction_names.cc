#include <medley/task/plugin.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

#include <medley/task/drivers/control_pass.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/mixed_pass.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/drivers/streams.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

#include "tasks/drivers/pictures.h"
#include "tasks/world/random_states.h"

namespace medley::tasks {
namespace {

// By action; each ends with its token, so that the words before it ask for it.
constexpr std::string_view kSentences[] = {
    "Forward is written <forward>",
    "One step ahead is <forward>",
    "To walk on, say <forward>",
    "Straight on means <forward>",
    "The move ahead is <forward>",
    "A step the way you look is <forward>",
    "If nothing is in the way, take <forward>",
    "Walking needs <forward>",
    "To get closer, use <forward>",
    "The step is called <forward>",
    "The way to go straight is <forward>",

    "Clockwise is written <clock>",
    "A turn to the right is <clock>",
    "To turn right, say <clock>",
    "Turning with the clock means <clock>",
    "The right turn is called <clock>",
    "To look more to the right, use <clock>",
    "What is on your right? Turn with <clock>",
    "The turn of a clock is <clock>",
    "Take back a left turn with <clock>",
    "Who turns clockwise says <clock>",

    "Anticlockwise is written <anticlock>",
    "A turn to the left is <anticlock>",
    "To turn left, say <anticlock>",
    "Turning against the clock means <anticlock>",
    "The left turn is called <anticlock>",
    "To look more to the left, use <anticlock>",
    "What is on your left? Turn with <anticlock>",
    "The turn that no clock makes is <anticlock>",
    "Take back a right turn with <anticlock>",
    "Who turns anticlockwise says <anticlock>",
};
constexpr TextList kTable{"sentences", kSentences};
constexpr std::string_view kActions[] = {"<forward>", "<clock>", "<anticlock>"};
constexpr int kPasses = 2;

// Sentences that tie the action tokens to their names, beside a picture that does not matter. All of a
// sentence is learned, with the eos behind it.
class DirectionNames final : public Task {
 public:
  static constexpr TaskSpec kSpec{
      .name = "direction_names",
      .summary = "end a sentence with the action token that it describes",
      .passes = {ControlPassSpec(/*decodes_image=*/false),
                 {.name = "sentence", .text_width = kPromptWidth, .images = {"image"}}},
      .terms = {ControlTextTerm(), {.name = "sentence", .weight = 1, .max_items = kPromptWidth - 1}},
      .variants = {{.name = "fused",
                    .passes = {{.name = "fused", .text_width = kMixedWidth, .images = {"image"}}},
                    .terms = {ControlTextTerm(),
                              {.name = "sentence", .weight = 1, .max_items = kPromptWidth - 1}},
                    .summary = "one forward: every other row makes the control pass"}},
      .constants = {kTable.Spec()},
      .inputs = {"images", "tokens", "lengths", "supervised"},
      .outputs = {"losses"},
      .special_tokens = {"<pad>", "<eos>", "<forward>", "<clock>", "<anticlock>"},
      .score = {.name = "accuracy", .higher_is_better = true, .chance = 1.0 / 3}};
  static std::vector<std::string> Texts() { return TextsOf({&kTable, 1}); }

  explicit DirectionNames(const TaskContext& context);

  Batch Sample(const RowRange& rows) const override;
  Sums Run(std::string_view pass, PassContext& context) const override;
  // The token that comes greedily after the words of a sentence.
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override;
  at::Tensor Constant(std::string_view) const override { return table_.Tokens(); }

 private:
  at::Tensor Tokens(PassContext& context) const;
  Sums RunFused(PassContext& context) const;
  std::string WordsOf(std::int64_t sentence) const;  // before the action

  const Tokenizer& tokenizer_;
  bool is_fused_;
  int size_;
  ControlPass control_;
  TextTable table_;
  std::vector<std::int64_t> ids_;                       // of the actions
  std::vector<std::vector<std::int64_t>> by_action_{};  // rows of the table
  std::vector<std::int64_t> words_;                     // tokens of a sentence before the action
};

DirectionNames::DirectionNames(const TaskContext& context)
    : tokenizer_(context.tokenizer()),
      is_fused_(context.variant == "fused"),
      size_(ImageSize(context)),
      control_(context),
      table_(context.tokenizer(), kTable.name, kTable.texts, kTable.Width(), TextEnd::kEos),
      by_action_(std::size(kActions)) {
  for (const std::string_view action : kActions) ids_.push_back(context.tokenizer().Id(action));
  for (std::int64_t row = 0; row < table_.rows(); ++row) {
    const std::vector<std::int64_t>& sentence = table_.Ids(row);
    const auto token = std::find_first_of(sentence.begin(), sentence.end(), ids_.begin(), ids_.end());
    if (token == sentence.end() || token == sentence.begin()) {
      throw InputError("the sentence \"" + std::string(kSentences[row]) +
                       "\" has no words or no action token in this " +
                       "vocabulary. Make a new one with: medley tokenizer train");
    }
    const auto action = std::find(ids_.begin(), ids_.end(), *token) - ids_.begin();
    by_action_[static_cast<std::size_t>(action)].push_back(row);
    words_.push_back(token - sentence.begin());
  }
}

Batch DirectionNames::Sample(const RowRange& rows) const {
  std::vector<world::Scene> scenes;
  std::vector<std::int64_t> labels, sentences, lengths, words;
  std::vector<LearnedSpan> learned;
  const std::vector<std::int64_t> kinds = FusedKinds(rows, kPasses);
  const std::vector<bool> control = OfKind(kinds, 0);
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom scene_random = rows.Random(row, kSceneStream);
    RowRandom text_random = rows.Random(row, kTextStream);
    scenes.push_back({world::BareState(scene_random)});
    labels.push_back(BalancedLabel(row, std::size(kActions), kPasses));
    const std::vector<std::int64_t>& fitting = by_action_[static_cast<std::size_t>(labels.back())];
    const auto choice = text_random.Below(static_cast<std::int64_t>(fitting.size()));
    sentences.push_back(rows.longest ? table_.longest_row() : fitting[static_cast<std::size_t>(choice)]);
    lengths.push_back(table_.Length(sentences.back()));
    words.push_back(words_[static_cast<std::size_t>(sentences.back())]);
    learned.push_back(is_fused_ && control[learned.size()] ? LearnedSpan{} : LearnedSpan{1, lengths.back()});
  }
  Batch batch(rows);
  batch.Add("image", RenderScenes(scenes, size_));
  batch.Add("sentence.label", IntColumn(labels));
  batch.Add("sentence.row", IntColumn(sentences));
  batch.Add("sentence.lengths", IntColumn(lengths));
  batch.Add("sentence.words", IntColumn(words));
  AddLearned(batch, "sentence.learned", "sentence", learned);
  control_.Sample(batch, /*decodes_image=*/false, is_fused_ ? &control : nullptr);
  if (is_fused_) batch.Add("kind", IntColumn(kinds));
  return batch;
}

at::Tensor DirectionNames::Tokens(PassContext& context) const {
  const at::Tensor table = context.Constant(kTable.name).narrow(1, 0, table_.longest());
  return table.index_select(0, context.batch().Column("sentence.row"));
}

Sums DirectionNames::Run(std::string_view pass, PassContext& context) const {
  if (pass == "control") return control_.Run(context, /*decodes_image=*/false);
  if (pass == "fused") return RunFused(context);
  const Batch& batch = context.batch();
  const ModelOutputs outputs =
      context.Forward({context.Image("image"),
                       {.name = "tokens", .tensor = Tokens(context), .key = ""},
                       {.name = "lengths", .tensor = batch.Column("sentence.lengths"), .key = ""},
                       {.name = "supervised",
                        .tensor = FlatPositions(batch.Ragged("sentence.learned"), table_.longest()),
                        .key = ""}},
                      {"losses"});
  return {{"sentence", SumLosses(outputs.at("losses"))}};
}

Sums DirectionNames::RunFused(PassContext& context) const {
  const Batch& batch = context.batch();
  const TextPart parts[] = {control_.Part(batch),
                            {.term = "sentence",
                             .tokens = Tokens(context),
                             .lengths = batch.Column("sentence.lengths"),
                             .learned = &batch.Ragged("sentence.learned")}};
  const ModelInputs inputs =
      MixedInputs({context.Image("image")}, parts, batch.Column("kind"), kMixedWidth, tokenizer_.pad());
  return MixedCrossEntropy(parts, context.Forward(inputs, {"losses"}));
}

std::string DirectionNames::WordsOf(std::int64_t sentence) const {
  std::vector<std::int64_t> ids = table_.Ids(sentence);
  ids.resize(static_cast<std::size_t>(words_[static_cast<std::size_t>(sentence)]));
  return tokenizer_.Decode(ids);
}

Outcomes DirectionNames::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  Sheet sheet;
  std::vector<std::int64_t> labels;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const Generated generated =
        piece.Generate({piece.Image("image"),
                        {.name = "tokens", .tensor = Tokens(piece), .key = ""},
                        {.name = "lengths", .tensor = piece.batch().Column("sentence.words"), .key = ""}},
                       {.max_new_tokens = 1});
    const at::Tensor label = piece.batch().Column("sentence.label").to(at::kCPU);
    const at::Tensor sentence = piece.batch().Column("sentence.row").to(at::kCPU);
    for (std::size_t i = 0; i < generated.tokens.size(); ++i) {
      const std::size_t row = labels.size();
      labels.push_back(label.const_data_ptr<std::int64_t>()[i]);
      const std::vector<std::int64_t> right{ids_[static_cast<std::size_t>(labels.back())]};
      const bool is_right = generated.tokens[i] == right;
      outcomes.score.push_back(is_right ? 1 : 0);
      if (!Sheet::Shows(row)) continue;
      sheet.Add(row, {.question = WordsOf(sentence.const_data_ptr<std::int64_t>()[i]),
                      .reply = tokenizer_.Decode(generated.tokens[i]),
                      .right = tokenizer_.Decode(right),
                      .is_right = is_right});
    }
    sheet.Add(piece.Pixels("image"));
  });
  outcomes.trivial["most frequent token"] = MostFrequentIsRight(labels);
  sheet.MoveTo(outcomes);
  return outcomes;
}

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::DirectionNames)
