#include <medley/task/plugin.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <algorithm>

#include <medley/task/drivers/control_pass.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/drivers/streams.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

#include "tasks/drivers/finder.h"
#include "tasks/drivers/pictures.h"
#include "tasks/world/random_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kNowTexts[] = {
    "Show what you see now.",
    "Draw the board of this step.",
    "Show this picture.",
    "Draw what is here now.",
};
constexpr std::string_view kLastTexts[] = {
    "Show what you saw one step back.",
    "Draw the picture before this one.",
    "Show the last board.",
    "What did you see just before?",
    "Go one picture back.",
};
constexpr std::string_view kTwoAgoTexts[] = {
    "Show what you saw two steps back.",
    "Draw the picture before the last one.",
    "Go two pictures back.",
    "Show the first board.",
    "What did you see at first?",
    "Draw the first of the three pictures.",
    "Show the picture two before this one.",
};
// By how many steps back the picture lies. No constant: the prompts are tokens of the batch.
constexpr TextList kTables[] = {{"now", kNowTexts}, {"last", kLastTexts}, {"two_ago", kTwoAgoTexts}};
constexpr int kSteps = 3;
constexpr std::string_view kImages[kSteps] = {"image1", "image2", "image3"};
constexpr const char* kRecalls[kSteps] = {"recall_now", "recall_last", "recall_two_ago"};
// Three pictures, one after the other; the third time one of them is asked for. What was seen before is there
// only as the model drew it: step k sees its own picture and the canvases of steps 1..k-1.
class MemCanvas final : public Task {
 public:
  static constexpr TaskSpec kSpec{
      .name = "mem_canvas",
      .summary = "recall one of three pictures that were seen in turn",
      .passes = {{.name = "step1",
                  .text_width = kControlWidth,
                  .images = {"image1"},
                  .decodes_image = true,
                  .carries = {"c1"}},
                 {.name = "step2",
                  .text_width = kControlWidth,
                  .images = {"c1", "image2"},
                  .decodes_image = true,
                  .carries = {"c2"}},
                 {.name = "recall",
                  .text_width = kPromptWidth,
                  .images = {"c1", "c2", "image3"},
                  .decodes_image = true}},
      .terms = {ControlImageTerm("step1_image"),
                ControlTextTerm("step1_text"),
                ControlImageTerm("step2_image"),
                ControlTextTerm("step2_text"),
                {.name = "image", .weight = kImageWeight}},
      .options = {{.name = "region_share",
                   .value = 0.5,
                   .low = 0,
                   .high = 0.99,
                   .summary = "share of the recalled picture's loss that lies where the three differ"},
                  {.name = "repeats",
                   .value = 0,
                   .low = 0,
                   .high = 1,
                   .summary = "share of rows whose second picture is the first once more, a first lesson"}},
      .inputs = {"images", "tokens", "lengths", "supervised"},
      .outputs = {"losses", "image", "drawing"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "recall", .higher_is_better = true, .chance = 1.0 / kSteps}};
  static std::vector<std::string> Texts() { return TextsOf(kTables); }

  explicit MemCanvas(const TaskContext& context);

  Batch Sample(const RowRange& rows) const override;
  Sums Run(std::string_view pass, PassContext& context) const override;
  // Whether the right one of the three pictures is the nearest to what was drawn.
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override;

 private:
  void SamplePrompts(Batch& batch) const;
  at::Tensor Recall(PassContext& context) const;  // the picture
  Sums Losses(PassContext& context, const at::Tensor& picture) const;
  at::Tensor WithStrangers(const at::Tensor& seen, const at::Tensor& back, const RowRange& rows) const;

  int size_;
  double region_share_, repeats_;
  std::int64_t pad_;
  ControlPass step1_, step2_;
  std::vector<TextTable> tables_;
};

MemCanvas::MemCanvas(const TaskContext& context)
    : size_(ImageSize(context)),
      region_share_(context.Option("region_share")),
      repeats_(context.Option("repeats")),
      pad_(context.tokenizer().pad()),
      step1_(context, {.name = "step1", .images = {"image1"}, .stream = kControlTextStream}),
      step2_(context, {.name = "step2", .images = {"c1", "image2"}, .stream = kSecondControlTextStream}) {
  for (const TextList& table : kTables) {
    tables_.push_back(TableOf(context.tokenizer(), table));
  }
}

Batch MemCanvas::Sample(const RowRange& rows) const {
  std::vector<world::Scene> scenes[kSteps];
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom random = rows.Random(row, kSceneStream);
    for (auto& column : scenes) column.push_back({world::BareState(random)});
    if (random.Uniform(0, 1) < repeats_) scenes[1].back() = scenes[0].back();
  }
  Batch batch(rows);
  for (int step = 0; step < kSteps; ++step) {
    batch.Add(std::string(kImages[step]), RenderScenes(scenes[step], size_));
  }
  step1_.Sample(batch, /*decodes_image=*/true);
  step2_.Sample(batch, /*decodes_image=*/true);
  SamplePrompts(batch);
  return batch;
}

void MemCanvas::SamplePrompts(Batch& batch) const {
  const RowRange& rows = batch.rows();
  std::vector<std::vector<std::int64_t>> tokens;
  std::vector<std::int64_t> lengths, back;
  const auto shorter = [](const TextTable& a, const TextTable& b) { return a.longest() < b.longest(); };
  const auto longest = std::max_element(tables_.begin(), tables_.end(), shorter);
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom random = rows.Random(row, kTextStream);
    back.push_back(BalancedLabel(row, kSteps));
    const TextTable& table = rows.longest ? *longest : tables_[static_cast<std::size_t>(back.back())];
    tokens.push_back(table.Ids(table.Draw(rows, random)));
    lengths.push_back(static_cast<std::int64_t>(tokens.back().size()));
  }
  batch.Add("recall.tokens", PadRows(tokens, kPromptWidth, pad_));
  batch.Add("recall.lengths", IntColumn(lengths));
  batch.Add("recall.back", IntColumn(back));
  batch.CountEach("image");
}

at::Tensor MemCanvas::Recall(PassContext& context) const {
  const Batch& batch = context.batch();
  const ModelInputs inputs{context.Image("c1"),
                           context.Image("c2"),
                           context.Image("image3"),
                           {.name = "tokens", .tensor = batch.Column("recall.tokens"), .key = ""},
                           {.name = "lengths", .tensor = batch.Column("recall.lengths"), .key = ""}};
  return context.Forward(inputs, {"image"}).at("image");
}

// The three pictures of each row, [rows, 3, 3, size, size], the latest first: index = steps back.
at::Tensor Seen(PassContext& context) {
  return at::stack({context.Pixels("image3"), context.Pixels("image2"), context.Pixels("image1")}, 1);
}

at::Tensor Asked(const at::Tensor& seen, const at::Tensor& back) {
  return seen.gather(1, back.view({-1, 1, 1, 1, 1}).expand({-1, 1, seen.size(2), seen.size(3), seen.size(4)}))
      .squeeze(1);
}

// The pictures that were seen, but for the second of two equal ones that was not asked for: in its place
// comes a board of the same kind that nobody saw.
at::Tensor MemCanvas::WithStrangers(const at::Tensor& seen, const at::Tensor& back,
                                    const RowRange& rows) const {
  std::vector<world::Scene> scenes;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom random = rows.Random(row, kStrangerStream);
    scenes.push_back({world::BareState(random)});
  }
  const at::Tensor strangers =
      ToDevice(RenderScenes(scenes, size_), seen.device()).to(seen.scalar_type()).div_(255).unsqueeze(1);
  const at::Tensor one_past = seen.select(1, 1).eq(seen.select(1, 2)).flatten(1).all(1);
  const at::Tensor number = at::arange(kSteps, back.options()).view({1, kSteps});
  const at::Tensor spare = number.eq(at::where(back.eq(1), 2, 1).unsqueeze(1));
  const at::Tensor replaced = spare.logical_and(one_past.unsqueeze(1)).view({-1, kSteps, 1, 1, 1});
  return at::where(replaced, strangers, seen);
}

Sums MemCanvas::Losses(PassContext& context, const at::Tensor& picture) const {
  const at::Tensor seen = Seen(context);
  const at::Tensor target = Asked(seen, context.batch().Column("recall.back"));
  at::Tensor differ;
  if (region_share_ > 0) differ = seen.ne(seen.narrow(1, 0, 1)).flatten(1, 2).any(1, /*keepdim=*/true);
  return {{"image", RegionErrors(picture, target, differ, region_share_).sum()}};
}

Sums MemCanvas::Run(std::string_view pass, PassContext& context) const {
  if (pass == "recall") return Losses(context, Recall(context));
  const ControlPass& step = pass == "step1" ? step1_ : step2_;
  const ModelOutputs outputs = step.Forward(context, /*decodes_image=*/true);
  context.Carry(pass == "step1" ? "c1" : "c2", outputs.at("drawing"));
  return step.Losses(context, outputs);
}

Outcomes MemCanvas::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  Sheet sheet;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    piece.Carry("c1", piece.Forward(step1_.Inputs(piece), {"drawing"}).at("drawing"));
    piece.Carry("c2", piece.Forward(step2_.Inputs(piece), {"drawing"}).at("drawing"));
    const at::Tensor picture = Recall(piece).clamp(0, 1);
    const at::Tensor seen = Seen(piece);
    const at::Tensor& back = piece.batch().Column("recall.back");
    // Where two are one, another board stands in for the one that was not asked for: else whoever draws
    // anything but the present would be right.
    const at::Tensor candidates = repeats_ == 0 ? seen : WithStrangers(seen, back, piece.batch().rows());
    const at::Tensor distances = candidates.sub(picture.unsqueeze(1)).square().mean({2, 3, 4});
    const at::Tensor right = distances.gather(1, back.unsqueeze(1)).squeeze(1).le(distances.amin(1));
    AppendRows(outcomes.score, right);
    AppendRows(outcomes.trivial["input"], back.eq(0));
    // The present where it is asked for, else a picture that is none of its: without any memory this is right
    // in half of the rows that ask for the past.
    AppendRows(outcomes.trivial["anything but the present"], back.eq(0).to(at::kDouble).add(1).div(2));
    for (int steps = 0; steps < kSteps; ++steps) {
      AppendRows(outcomes.Share(kRecalls[steps]),
                 at::where(back.eq(steps), right.to(at::kDouble), kNotCounted));
    }
    const at::Tensor zooms = at::ones({picture.size(0)}, picture.options());
    AddFound({.target = EstimateObjects(Asked(seen, back)), .input = EstimateObjects(piece.Pixels("image3"))},
             EstimateObjects(picture), zooms, outcomes);
    sheet.Add(SideBySide({piece.Pixels("image1"), piece.Pixels("image2"), piece.Pixels("image3")}),
              Asked(seen, back), picture);
  });
  sheet.MoveTo(outcomes);
  return outcomes;
}

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::MemCanvas)
