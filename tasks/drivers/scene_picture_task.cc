#include "tasks/drivers/scene_picture_task.h"

#include <ATen/core/Tensor.h>

#include <medley/task/losses.h>

#include "tasks/drivers/pictures.h"

namespace medley::tasks {

ScenePictureTask::ScenePictureTask(const TaskContext& context, const TaskSpec& spec, const TextList& prompts,
                                   const Judging& judging)
    : PictureTask(context, spec, prompts), objects_(context.Option("objects")), judging_(judging) {
  ImageSize(context);
}

PictureTask::Prompt ScenePictureTask::Draw(Row& row, PictureBytes input, PictureBytes target) const {
  const PictureExample example = DrawScene(row.number, row.random);
  RenderScene(example.input, input);
  RenderScene(example.target, target);
  return example.prompt;
}

// An object that stays is a dozen pixels of thousands, which nobody would learn to keep; so is one in a
// close-up, where all changes.
at::Tensor ScenePictureTask::Region(const at::Tensor& target, const at::Tensor& input) const {
  const at::Tensor changes = DifferentPixels(target, input);
  if (objects_ == 0) return changes;
  if (objects_ == 1) return changes.logical_or(Coloured(target));
  return changes.to(target.scalar_type()).maximum(Coloured(target).to(target.scalar_type()).mul_(objects_));
}

void ScenePictureTask::Refine(PictureExam& exam) const {
  exam.judge_what_stays = judging_.judge_what_stays;
  exam.more = FoundFigures([this](std::int64_t) { return judging_.zoom; }, exam.input_is_an_answer);
}

}  // namespace medley::tasks
