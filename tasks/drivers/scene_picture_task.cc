#include "tasks/drivers/scene_picture_task.h"

#include <ATen/core/Tensor.h>

#include <medley/task/losses.h>

#include "tasks/drivers/pictures.h"

namespace medley::tasks {

ScenePictureTask::ScenePictureTask(const TaskContext& context, const TaskSpec& spec, const TextList& prompts,
                                   const Judging& judging)
    : PictureTask(context, spec, prompts), with_objects_(context.Option("objects") > 0), judging_(judging) {
  ImageSize(context);
}

PictureTask::Prompt ScenePictureTask::Draw(Row& row, PictureBytes input, PictureBytes target) const {
  const PictureExample example = DrawScene(row.number, row.random);
  RenderScene(example.input, input);
  RenderScene(example.target, target);
  return example.prompt;
}

// An object that stays is a dozen pixels of thousands, which nobody would learn to keep.
at::Tensor ScenePictureTask::Region(const at::Tensor& target, const at::Tensor& input) const {
  const at::Tensor changes = DifferentPixels(target, input);
  return with_objects_ ? changes.logical_or(Coloured(target)) : changes;
}

void ScenePictureTask::Refine(PictureExam& exam) const {
  exam.judge_what_stays = judging_.judge_what_stays;
  exam.more = FoundFigures([this](std::int64_t) { return judging_.zoom; }, exam.input_is_an_answer);
}

}  // namespace medley::tasks
