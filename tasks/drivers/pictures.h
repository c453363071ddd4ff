#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>

#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/drivers/picture_bytes.h>
#include <medley/task/task.h>

#include "tasks/drivers/finder.h"
#include "tasks/world/render.h"

namespace medley::tasks {

// The side of the model's pictures; an InputError where the game cannot be shown at that size.
int ImageSize(const TaskContext& context);

void RenderScene(const world::Scene& scene, PictureBytes picture);
at::Tensor RenderScenes(std::span<const world::Scene> scenes, int size);  // [scenes, 3, size, size] bytes

// The pixels of agent and gold, which are all that has a colour (and a line, where there is one),
// [pictures, 1, size, size] bool.
at::Tensor Coloured(const at::Tensor& pictures);

// Appends the shares of objects that are where they belong (ShareFound), which a smear has none of: "found"
// of those that changed, "found_kept" of the others; and "found_by_input" of the changed ones.
void AddFound(const Expected& expected, const Estimate& drawn, const at::Tensor& zoom, Outcomes& outcomes);

// For PictureExam::more: AddFound of what was drawn, and "found_by_mean". Where the input is no answer,
// because it is the target, all of it has to be drawn: there nothing is kept. `zoom`: how large the target of
// a row shows the game.
std::function<void(const JudgedPictures&, Outcomes&)> FoundFigures(
    std::function<double(std::int64_t row)> zoom, bool input_is_an_answer);

}  // namespace medley::tasks
