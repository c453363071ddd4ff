#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>

#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/drivers/picture_bytes.h>
#include <medley/task/task.h>

#include "tasks/world/render.h"

namespace medley::tasks {

// The side of the model's pictures; an InputError where the game cannot be shown at that size.
int ImageSize(const TaskContext& context);

void RenderScene(const world::Scene& scene, PictureBytes picture);
at::Tensor RenderScenes(std::span<const world::Scene> scenes, int size);  // [scenes, 3, size, size] bytes

// The pixels of agent and gold, which are all that has a colour (and a line, where there is one),
// [pictures, 1, size, size] bool.
at::Tensor Coloured(const at::Tensor& pictures);

// For PictureExam::more: the share of objects that are where they belong (ShareFound), which a smear has none
// of, in what was drawn, in the mean and, where that is an answer, in the input. `zoom`: how large the target
// of a row shows the game.
std::function<void(const JudgedPictures&, Outcomes&)> FoundFigures(
    std::function<double(std::int64_t row)> zoom, bool input_is_an_answer);

}  // namespace medley::tasks
