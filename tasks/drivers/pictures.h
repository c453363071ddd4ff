#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <string>

#include <medley/task/task.h>

#include "tasks/world/render.h"

namespace medley::tasks {

// The side of the model's pictures; an InputError where the game cannot be shown at that size.
int ImageSize(const TaskContext& context);

at::Tensor RenderScenes(std::span<const world::Scene> scenes, int size);  // [scenes, 3, size, size] bytes

// How a picture that the model draws is judged: its mean squared error on the region that should change (all
// of it where nothing should), beside answers that need no learning.
struct PictureExam {
  std::string input;                // column
  std::string target;               // column
  std::string mean_answer;          // name of the answer "the mean of the evaluated targets"
  bool input_is_an_answer = false;  // also judge returning the input
  std::function<ModelInputs(EvalPass&)> inputs;
};
Outcomes JudgePictures(EvalContext& context, const RowRange& rows, const PictureExam& exam);

inline constexpr std::int64_t kSheetRows = 8;  // rows of a picture sheet

// The first pictures of an evaluation as bytes on the host.
class SheetColumn {
 public:
  void Add(const at::Tensor& pictures);  // floats, [rows, 3, size, size]
  at::Tensor Take() const;               // undefined where nothing was added

 private:
  std::vector<at::Tensor> parts_;
  std::int64_t rows_ = 0;
};

}  // namespace medley::tasks
