#include <medley/task/plugin.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>

#include <medley/task/batch.h>
#include <medley/task/drivers/control_pass.h>
#include <medley/task/drivers/prompts.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/drivers/streams.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

#include "tasks/complex_loss/closer.h"
#include "tasks/drivers/pictures.h"
#include "tasks/world/random_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kTexts[] = {
    "Move closer to the coin.",
    "Come nearer to the gold.",
    "Draw yourself closer to the gold.",
    "Shorten the way to the coin.",
};
constexpr TextList kPrompts{"prompts", kTexts};
world::State StateOf(const RowRange& rows, std::int64_t row) {
  RowRandom random = rows.Random(row, kSceneStream);
  return world::BareState(random);
}

// Draw the board with the agent closer to the gold. No picture is the right one: a loss measures where the
// agent was drawn, and a second one asks for a picture that the game itself would draw.
class ComplexLoss final : public Task {
 public:
  static constexpr TaskSpec kSpec{
      .name = "complex_loss",
      .summary = "draw the agent at half its distance from the gold",
      .passes = {{.name = "task", .text_width = kPromptWidth, .images = {"image"}, .decodes_image = true}},
      // All rows are items of all terms: which rows have a findable agent and gold is known after the forward
      // only. The third term is no loss; its mean is the detection rate, which the first must be read with.
      .terms = {{.name = "closer", .weight = kImageWeight / 500},
                {.name = "game", .weight = kImageWeight},
                {.name = "detected", .weight = 0}},
      .constants = {kPrompts.Spec()},
      .options = {{.name = "region_share",
                   .value = 0,
                   .low = 0,
                   .high = 0.99,
                   .summary =
                       "share of the redrawn picture's loss that lies where agent and gold are or were"},
                  {.name = "shown",
                   .value = 0,
                   .low = 0,
                   .high = 1,
                   .summary = "a lesson: the share of rows whose redrawn picture has the agent halfway to "
                              "the gold, wherever it was drawn"}},
      .inputs = {"images", "tokens", "lengths"},
      .outputs = {"image"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "distance_left", .higher_is_better = false}};
  static std::vector<std::string> Texts() { return TextsOf({&kPrompts, 1}); }

  explicit ComplexLoss(const TaskContext& context)
      : size_(ImageSize(context)),
        region_share_(context.Option("region_share")),
        shown_(context.Option("shown")),
        prompts_(context, "task", kPrompts) {}

  Batch Sample(const RowRange& rows) const override;
  Sums Run(std::string_view pass, PassContext& context) const override;
  // The share of the agent's distance from the gold that is left; all of it where agent or gold is not found.
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const override;
  at::Tensor Constant(std::string_view) const override { return prompts_.Constant(); }

 private:
  at::Tensor DrawPicture(PassContext& context) const;
  at::Tensor AsTheGameDraws(const Estimate& drawn, const RowRange& rows, double shown = 0) const;

  int size_;
  double region_share_, shown_;
  Prompts prompts_;
};

Batch ComplexLoss::Sample(const RowRange& rows) const {
  std::vector<world::Scene> scenes;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    scenes.push_back({StateOf(rows, row)});
  }
  Batch batch(rows);
  batch.Add("image", RenderScenes(scenes, size_));
  prompts_.AddDrawn(batch);
  for (const TermSpec& term : kSpec.terms) batch.CountEach(std::string(term.name));
  return batch;
}

at::Tensor ComplexLoss::DrawPicture(PassContext& context) const {
  return context.Forward(prompts_.Inputs({context.Image("image")}, context), {"image"}).at("image");
}

// The rows' states with what was found in the pictures, drawn by the game, [rows, 3, size, size] bytes on the
// host. What was not found stays where it was, so that a picture that lacks it learns to show it again. Sizes
// are the game's: an area drawn in whole pixels is smaller than the disc, and would shrink from step to step.
// Of a share of the rows the state halfway, whatever was found: whoever copies is nowhere near a picture that
// the other terms like better.
at::Tensor ComplexLoss::AsTheGameDraws(const Estimate& drawn, const RowRange& rows, double shown) const {
  const at::NoGradGuard no_grad;
  const at::Tensor values = AsNumbers(drawn).to(at::kCPU);  // a GPU is waited for once
  const double* value = values.const_data_ptr<double>();
  const double pixel =
      1.0 / size_;  // a disc about pixel edge X has its mean at X - 1/2; rounding is downwards
  std::vector<world::Scene> scenes;
  for (std::int64_t i = 0; i < rows.count; ++i, value += values.size(1)) {
    const bool agent_found = value[5] != 0, eye_found = value[6] != 0, gold_found = value[7] != 0;
    world::State state = StateOf(rows, rows.begin + i);
    RowRandom lesson = rows.Random(rows.begin + i, kLessonStream);
    if (lesson.Uniform(0, 1) < shown) {
      state.agent = {(state.agent.x + state.gold[0].x) / 2, (state.agent.y + state.gold[0].y) / 2};
      scenes.push_back({state});
      continue;
    }
    if (agent_found) state.agent = {value[0] + pixel, value[1] + pixel};
    if (agent_found && eye_found) state.direction = world::WrapAngle(value[4]);
    if (gold_found) state.gold[0] = {value[2] + pixel, value[3] + pixel};
    scenes.push_back({state});
  }
  return RenderScenes(scenes, size_);
}

Sums ComplexLoss::Run(std::string_view, PassContext& context) const {
  const at::Tensor picture = DrawPicture(context);
  const Estimate drawn = EstimateObjects(picture);
  // What the same eyes find in the input: the game draws discs of whole pixels, smaller than their radius.
  const at::Tensor input = context.Pixels("image");
  const Estimate before = EstimateObjects(input);
  const at::Tensor game = ToDevice(AsTheGameDraws(drawn, context.batch().rows(), shown_), picture.device())
                              .to(drawn.agent.scalar_type())
                              .div_(255);
  const at::Tensor objects = region_share_ == 0 ? at::Tensor() : Coloured(game).logical_or(Coloured(input));
  return {{"closer", CloserLoss(drawn, before).sum()},
          {"game", RegionErrors(picture, game, objects, region_share_).sum()},
          {"detected", drawn.both_found().to(drawn.agent.scalar_type()).sum()}};
}

Outcomes ComplexLoss::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  Sheet sheet;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const at::Tensor picture = DrawPicture(piece).clamp(0, 1);
    const at::Tensor input = piece.Pixels("image");
    const Estimate drawn = EstimateObjects(picture);
    const Estimate before = EstimateObjects(input);
    const at::Tensor left = DistanceLeft(drawn, before);
    const at::Tensor found = drawn.both_found();
    AppendRows(outcomes.score, left);
    AppendRows(outcomes.trivial["input"], DistanceLeft(before, before));
    Estimate middle = before;
    middle.agent = at::full_like(before.agent, 0.5);
    AppendRows(outcomes.trivial["agent in the middle"], DistanceLeft(middle, before));
    AppendRows(outcomes.Share("detected"), found);
    AppendRows(outcomes.Amount("distance_left_of_detected"), at::where(found, left, kNotCounted));
    AppendRows(outcomes.Amount("gold_moved_of_detected"),
               at::where(found, Distance(drawn.gold, before.gold), kNotCounted));
    // The agent belongs halfway to the gold, all else where it was.
    Estimate wanted = before;
    wanted.agent = before.agent.add(before.gold).div(2);
    const at::Tensor zooms = at::ones({picture.size(0)}, picture.options());
    AddFound({.target = wanted, .input = before}, drawn, zooms, outcomes);
    sheet.Add(input, AsTheGameDraws(drawn, piece.batch().rows()).to(at::kFloat).div_(255), picture);
  });
  sheet.MoveTo(outcomes);
  return outcomes;
}

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::ComplexLoss)
