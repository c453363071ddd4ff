#include "tasks/drivers/picture_task.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>

#include <array>
#include <numeric>
#include <utility>

#include <medley/task/losses.h>

#include "tasks/drivers/labels.h"
#include "tasks/drivers/mixed_pass.h"
#include "tasks/drivers/pictures.h"
#include "tasks/drivers/streams.h"

namespace medley::tasks {

PictureTask::PictureTask(const TaskContext& context, const Table& prompts, const Judging& judging)
    : variant_(context.variant),
      size_(ImageSize(context)),
      region_share_(context.Option("region_share")),
      with_objects_(context.Option("objects") > 0),
      judging_(judging),
      control_(context),
      prompts_name_(prompts.name),
      prompts_(context.tokenizer(), prompts.name, prompts.texts, kPromptWidth, TextEnd::kOpen),
      pad_(context.tokenizer().pad()) {}

Batch PictureTask::Sample(const RowRange& rows) const {
  std::vector<world::Scene> inputs, targets;
  std::vector<std::int64_t> prompts, lengths;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom scene_random = rows.Random(row, kSceneStream);
    RowRandom text_random = rows.Random(row, kTextStream);
    const PictureExample example = Draw(row, scene_random);
    inputs.push_back(example.input);
    targets.push_back(example.target);
    const bool is_given = example.prompt && !rows.longest;
    prompts.push_back(is_given ? *example.prompt : prompts_.Draw(rows, text_random));
    lengths.push_back(prompts_.Length(prompts.back()));
  }
  Batch batch(rows);
  batch.Add("image", RenderScenes(inputs, size_));
  batch.Add("target", RenderScenes(targets, size_));
  batch.Add("task.prompt", IntColumn(prompts));
  batch.Add("task.lengths", IntColumn(lengths));
  if (variant_ == "fused") {
    const std::vector<std::int64_t> kinds = FusedKinds(rows, 2);
    const std::vector<bool> control = OfKind(kinds, kControl);
    AddKinds(batch, "fused", IntColumn(kinds));
    batch.SetItems("image", IntColumn(kinds));  // kTask is 1
    control_.Sample(batch, /*decodes_image=*/true, &control);
    return batch;
  }
  batch.SetItems("image", at::ones({rows.count}, at::kLong));
  control_.Sample(batch, /*decodes_image=*/true);
  if (variant_ == "carry") SampleOrder(batch);
  return batch;
}

// What each row makes first, and which control text is learned in which of the two passes.
void PictureTask::SampleOrder(Batch& batch) const {
  const RowRange& rows = batch.rows();
  const std::int64_t* lengths = batch.Column("control.lengths").const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> first_kinds, second_kinds;
  std::vector<std::vector<std::int64_t>> first, second;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    first_kinds.push_back(BalancedLabel(rows.begin + i, 2));
    second_kinds.push_back(1 - first_kinds.back());
    std::vector<std::int64_t> positions(static_cast<std::size_t>(lengths[i] - 1));
    std::iota(positions.begin(), positions.end(), 1);
    const bool control_first = first_kinds.back() == kControl;
    first.push_back(control_first ? positions : std::vector<std::int64_t>{});
    second.push_back(control_first ? std::vector<std::int64_t>{} : positions);
  }
  AddKinds(batch, "first", IntColumn(first_kinds));
  AddKinds(batch, "second", IntColumn(second_kinds));
  batch.AddRagged("first.learned", first);
  batch.AddRagged("second.learned", second);
}

// Control's picture is its own target. Made here, so that a step has no picture more than that of a pass
// alone.
void PictureTask::AddKinds(Batch& batch, const std::string& pass, at::Tensor kinds) {
  const std::array targets{batch.Column("image"), batch.Column("target")};
  batch.Add(pass + ".target", RowsOfKinds(targets, kinds));
  batch.Add(pass + ".kind", std::move(kinds));
}

at::Tensor PictureTask::Prompts(PassContext& context) const {
  const at::Tensor table = context.Constant(prompts_name_).narrow(1, 0, prompts_.longest());
  return table.index_select(0, context.batch().Column("task.prompt"));
}

ModelInputs PictureTask::TaskInputs(PassContext& context) const {
  return {context.Image("image"),
          {.name = "tokens", .tensor = Prompts(context), .key = ""},
          {.name = "lengths", .tensor = context.batch().Column("task.lengths"), .key = ""}};
}

Sums PictureTask::Run(std::string_view pass, PassContext& context) const {
  if (pass == "control") return control_.Run(context, /*decodes_image=*/true);
  if (pass != "task") return RunMixed(std::string(pass), context);
  const ModelOutputs outputs = context.Forward(TaskInputs(context), {"image"});
  const at::Tensor target = context.Pixels("target"), input = context.Pixels("image");
  if (with_objects_) return {{"image", Errors(outputs.at("image"), target, input).sum()}};
  return {{"image", SumPictureError(outputs.at("image"), target, input, region_share_)}};
}

// An object that stays is a dozen pixels of thousands, which nobody would learn to keep.
at::Tensor PictureTask::Errors(const at::Tensor& picture, const at::Tensor& target,
                               const at::Tensor& input) const {
  if (!with_objects_) return PictureErrors(picture, target, input, region_share_);
  return RegionErrors(picture, target, DifferentPixels(target, input).logical_or(Coloured(target)),
                      region_share_);
}

Sums PictureTask::RunMixed(const std::string& pass, PassContext& context) const {
  const Batch& batch = context.batch();
  const at::Tensor& kind = batch.Column(pass + ".kind");
  TextPart control = control_.Part(batch);
  if (variant_ == "carry") control.learned = &batch.Ragged(pass + ".learned");
  const TextPart parts[] = {
      control, {.term = "", .tokens = Prompts(context), .lengths = batch.Column("task.lengths")}};
  ModelInputs pictures;
  if (pass == "second") pictures.push_back(context.Image("c1"));
  pictures.push_back(context.Image("image"));
  const ModelOutputs outputs =
      context.Forward(MixedInputs(std::move(pictures), parts, kind, pad_), {"logits", "targets", "image"});
  const at::Tensor& picture = outputs.at("image");
  if (pass == "first") context.Carry("c1", picture);

  // Where control's picture is its own target there is no region that changes.
  const at::Tensor errors = Errors(picture, context.Pixels(pass + ".target"), context.Pixels("image"));
  Sums sums = MixedCrossEntropy(parts, outputs);
  sums["control_image"] = errors.mul(kind.eq(kControl)).sum();
  sums["image"] = errors.mul(kind.eq(kTask)).sum();
  return sums;
}

Outcomes PictureTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  return JudgePictures(context, rows,
                       {.input = "image",
                        .target = "target",
                        .mean_answer = "mean target",
                        .input_is_an_answer = true,
                        .judge_what_stays = judging_.judge_what_stays,
                        .zoom = [this](std::int64_t) { return judging_.zoom; },
                        .inputs = [this](EvalPass& piece) { return TaskInputs(piece); }});
}

at::Tensor PictureTask::Constant(std::string_view) const { return prompts_.Tokens(); }

}  // namespace medley::tasks
