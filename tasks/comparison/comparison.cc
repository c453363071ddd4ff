#include <medley/task/plugin.h>

#include <ATen/core/Tensor.h>

#include <numeric>
#include <set>

#include <medley/task/drivers/control_pass.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/prompts.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/drivers/streams.h>
#include <medley/task/drivers/text_list.h>
#include <medley/task/drivers/text_question.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

#include "tasks/drivers/pictures.h"
#include "tasks/world/chosen_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kWaitTexts[] = {
    "Look and wait.",
    "Wait for the second board.",
    "This is the first board.",
};
constexpr std::string_view kQuestionTexts[] = {
    "Which board would you take?",
    "Which of the two boards is better?",
    "Which board needs fewer moves?",
    "Which board is done first?",
};
constexpr std::string_view kFirstTexts[] = {"The first.", "The first board.", "The one before."};
constexpr std::string_view kSecondTexts[] = {"The second.", "The second board.", "The one here."};
constexpr TextList kTables[] = {
    {"wait_prompts", kWaitTexts},
    {"question_prompts", kQuestionTexts},
    {"first", kFirstTexts, /*reply=*/true},
    {"second", kSecondTexts, true},
};

// Which of two boards is solved in fewer moves. The first is there only as the model drew it while it waited.
class Comparison final : public Task {
 public:
  static constexpr TaskSpec kSpec{
      .name = "comparison",
      .summary = "say which of two boards takes fewer moves to solve",
      .passes = {{.name = "wait",
                  .text_width = kPromptWidth,
                  .images = {"image1"},
                  .decodes_image = true,
                  .carries = {"c1"}},
                 {.name = "question",
                  .text_width = kQuestionWidth,
                  .images = {"c1", "image2"},
                  .decodes_image = true}},
      .terms = {{.name = "image1", .weight = kImageWeight},
                {.name = "image2", .weight = kImageWeight},
                {.name = "answer", .weight = 1, .max_items = kReplyWidth}},
      .constants = {kTables[0].Spec(), kTables[1].Spec(), kTables[2].Spec(), kTables[3].Spec()},
      .inputs = {"images", "tokens", "lengths", "supervised"},
      .outputs = {"losses", "drawing"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "accuracy", .higher_is_better = true, .chance = 0.5}};
  static std::vector<std::string> Texts() { return TextsOf(kTables); }

  explicit Comparison(const TaskContext& context);

  Batch Sample(const RowRange& rows) const override;
  Sums Run(std::string_view pass, PassContext& context) const override;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override;
  at::Tensor Constant(std::string_view name) const override;

 private:
  void SampleTexts(Batch& batch, const std::vector<std::int64_t>& labels) const;
  // Draws the first board again, which the question then sees.
  at::Tensor Wait(PassContext& context) const;
  Sums RunQuestion(PassContext& context) const;

  int size_;
  Prompts wait_;
  TextTable prompts_, first_, second_;
  TextQuestion question_;
};

Comparison::Comparison(const TaskContext& context)
    : size_(ImageSize(context)),
      wait_(context, "wait", kTables[0]),
      prompts_(TableOf(context.tokenizer(), kTables[1])),
      first_(TableOf(context.tokenizer(), kTables[2])),
      second_(TableOf(context.tokenizer(), kTables[3])),
      question_(context.tokenizer(), "question", "answer", {std::string(kTables[1].name), &prompts_},
                {{std::string(kTables[2].name), &first_}, {std::string(kTables[3].name), &second_}}) {}

Batch Comparison::Sample(const RowRange& rows) const {
  std::vector<world::Scene> first, second;
  std::vector<std::int64_t> labels, second_moves;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom random = rows.Random(row, kSceneStream);
    labels.push_back(BalancedLabel(row, 2));
    world::Solved one, other;
    do {  // ties have no answer
      one = world::SolvableState(random);
      other = world::SolvableState(random);
    } while (one.moves == other.moves);
    const bool swap = (one.moves < other.moves) != (labels.back() == 0);
    first.push_back({swap ? other.state : one.state});
    second.push_back({swap ? one.state : other.state});
    second_moves.push_back(swap ? one.moves : other.moves);
  }
  Batch batch(rows);
  batch.Add("image1", RenderScenes(first, size_));
  batch.Add("image2", RenderScenes(second, size_));
  batch.Add("image2.moves", IntColumn(second_moves));
  batch.CountEach("image1");
  batch.CountEach("image2");
  SampleTexts(batch, labels);
  return batch;
}

void Comparison::SampleTexts(Batch& batch, const std::vector<std::int64_t>& labels) const {
  const RowRange& rows = batch.rows();
  std::vector<std::int64_t> waits;
  std::vector<TextQuestion::Row> questions;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    RowRandom random = rows.Random(rows.begin + static_cast<std::int64_t>(i), kTextStream);
    waits.push_back(wait_.Draw(rows, random));
    questions.push_back({.label = labels[i], .prompt = question_.DrawPrompt(rows, random)});
  }
  wait_.Add(batch, waits);
  question_.Sample(batch, questions);
}

at::Tensor Comparison::Wait(PassContext& context) const {
  return context.Forward(wait_.Inputs({context.Image("image1")}, context), {"drawing"}).at("drawing");
}

Sums Comparison::RunQuestion(PassContext& context) const {
  const ModelOutputs outputs =
      context.Forward(question_.LearnedInputs({context.Image("c1"), context.Image("image2")}, context),
                      {"losses", "drawing"});
  const at::Tensor seen = context.Pixels("image2");
  return {{"answer", SumLosses(outputs.at("losses"))},
          {"image2", SumPictureError(outputs.at("drawing"), seen, seen, 0)}};
}

Sums Comparison::Run(std::string_view pass, PassContext& context) const {
  if (pass == "question") return RunQuestion(context);
  const at::Tensor canvas = Wait(context);
  context.Carry("c1", canvas);
  const at::Tensor seen = context.Pixels("image1");
  return {{"image1", SumPictureError(canvas, seen, seen, 0)}};
}

// What the best answer gets that looks at the second board alone: it is better where it takes fewer moves
// than some number.
std::vector<double> SecondAloneIsRight(const std::vector<double>& moves,
                                       const std::vector<std::int64_t>& labels) {
  const auto right_below = [&](double limit) {
    std::vector<double> right;
    for (std::size_t i = 0; i < moves.size(); ++i) right.push_back((moves[i] < limit) == (labels[i] == 1));
    return right;
  };
  std::vector<double> best(moves.size(), 0);
  double most = 0;
  for (const double limit : std::set<double>(moves.begin(), moves.end())) {
    std::vector<double> right = right_below(limit);
    const double sum = std::accumulate(right.begin(), right.end(), 0.0);
    if (sum > most) most = sum, best = std::move(right);
  }
  return best;
}

Outcomes Comparison::Evaluate(EvalContext& context, const RowRange& rows) const {
  Sheet sheet;
  Judged judged;
  std::vector<double> second_moves;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const at::Tensor drawn = Wait(piece);
    piece.Carry("c1", drawn);
    question_.Judge({piece.Image("c1"), piece.Image("image2")}, piece, judged, sheet);
    // What the question is asked with is the canvas; it should be the first board.
    sheet.Add(SideBySide({piece.Pixels("image1"), piece.Pixels("image2")}), piece.Pixels("image1"), drawn);
    AppendRows(second_moves, piece.batch().Column("image2.moves"));
  });
  Outcomes outcomes{.score = judged.right,
                    .trivial = {{"most frequent reply", MostFrequentIsRight(judged.labels)},
                                {"second board alone", SecondAloneIsRight(second_moves, judged.labels)}}};
  sheet.MoveTo(outcomes);
  return outcomes;
}

at::Tensor Comparison::Constant(std::string_view name) const {
  if (name == "wait_prompts") return wait_.Constant();
  return (name == "question_prompts" ? prompts_ : name == "first" ? first_ : second_).Tokens();
}

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::Comparison)
