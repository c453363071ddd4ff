#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <limits>
#include <span>
#include <string>

#include <medley/task/task.h>

#include "tasks/world/render.h"

namespace medley::tasks {

// The side of the model's pictures; an InputError where the game cannot be shown at that size.
int ImageSize(const TaskContext& context);

at::Tensor RenderScenes(std::span<const world::Scene> scenes, int size);  // [scenes, 3, size, size] bytes

// The pixels of agent and gold, which are all that has a colour (and a line, where there is one),
// [pictures, 1, size, size] bool.
at::Tensor Coloured(const at::Tensor& pictures);

// How a picture that the model draws is judged: its mean squared error on the region that should change (all
// of it where nothing should), beside answers that need no learning; the error elsewhere is a figure beside
// it, without which a region of one colour could be flooded, and the share of objects that are where they
// belong (ShareFound), which a smear has none of. With a single row there is no other row to take
// the mean of: NaN.
struct PictureExam {
  std::string input;                // column
  std::string target;               // column
  std::string mean_answer;          // name of the answer "the mean of the other rows' targets"
  bool input_is_an_answer = false;  // also judge returning the input
  // Where something is left out, the region that changes is always white, and white would be perfect in it.
  // So the error is the mean of three: of that region, of the pixels outside of it that the mean answer has
  // wrong (what must stay), and of all others; a row that lacks one has the mean of the rest.
  bool judge_what_stays = false;
  std::function<double(std::int64_t row)> zoom = {};  // how large the target shows the game; none: as it is
  std::function<ModelInputs(EvalPass&)> inputs;
};
Outcomes JudgePictures(EvalContext& context, const RowRange& rows, const PictureExam& exam);

// Pictures of the same rows beside each other, as one wide picture each.
at::Tensor SideBySide(const std::vector<at::Tensor>& pictures);

// The value of a row that does not count in an outcome.
inline constexpr double kNotCounted = std::numeric_limits<double>::quiet_NaN();
// Adds the values of some rows to an outcome.
void AppendRows(std::vector<double>& outcome, const at::Tensor& values);

}  // namespace medley::tasks
