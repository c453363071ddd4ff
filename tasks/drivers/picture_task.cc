#include "tasks/drivers/picture_task.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>

#include <medley/task/losses.h>

#include "tasks/drivers/pictures.h"
#include "tasks/drivers/streams.h"

namespace medley::tasks {

PictureTask::PictureTask(const TaskContext& context, const Table& prompts)
    : size_(ImageSize(context)),
      region_share_(context.Option("region_share")),
      control_(context),
      prompts_name_(prompts.name),
      prompts_(context.tokenizer, prompts.name, prompts.texts, kPromptWidth, TextEnd::kOpen) {}

Batch PictureTask::Sample(const RowRange& rows) const {
  std::vector<world::Scene> inputs, targets;
  std::vector<std::int64_t> prompts, lengths;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom scene_random = rows.Random(row, kSceneStream);
    RowRandom text_random = rows.Random(row, kTextStream);
    const PictureExample example = Draw(row, scene_random);
    inputs.push_back(example.input);
    targets.push_back(example.target);
    prompts.push_back(example.prompt ? *example.prompt : text_random.Below(prompts_.rows()));
    lengths.push_back(prompts_.Length(prompts.back()));
  }
  Batch batch(rows);
  batch.Add("image", RenderScenes(inputs, size_));
  batch.Add("target", RenderScenes(targets, size_));
  batch.Add("task.prompt", IntColumn(prompts));
  batch.Add("task.lengths", IntColumn(lengths));
  batch.SetItems("image", at::ones({rows.count}, at::kLong));
  control_.Sample(batch, /*decodes_image=*/true);
  return batch;
}

ModelInputs PictureTask::TaskInputs(PassContext& context) const {
  const Batch& batch = context.batch();
  const at::Tensor table = context.Constant(prompts_name_).narrow(1, 0, prompts_.longest());
  return {context.Image("image"),
          {.name = "tokens", .tensor = table.index_select(0, batch.Column("task.prompt")), .key = ""},
          {.name = "lengths", .tensor = batch.Column("task.lengths"), .key = ""}};
}

Sums PictureTask::Run(std::string_view pass, PassContext& context) const {
  if (pass == "control") return control_.Run(context, /*decodes_image=*/true);
  const ModelOutputs outputs = context.Forward(TaskInputs(context), {"image"});
  return {{"image", SumPictureError(outputs.at("image"), context.Pixels("target"), context.Pixels("image"),
                                    region_share_)}};
}

Outcomes PictureTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  return JudgePictures(context, rows,
                       {.input = "image",
                        .target = "target",
                        .mean_answer = "mean target",
                        .input_is_an_answer = true,
                        .inputs = [this](EvalPass& piece) { return TaskInputs(piece); }});
}

at::Tensor PictureTask::Constant(std::string_view) const { return prompts_.Tokens(); }

}  // namespace medley::tasks
