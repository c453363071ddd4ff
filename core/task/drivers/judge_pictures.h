#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <medley/task/task.h>

namespace medley {

// Some rows of a picture task as they are judged: floats in [0, 1], [rows, 3, size, size].
struct JudgedPictures {
  const RowRange& rows;
  const at::Tensor& input;
  const at::Tensor& target;
  const at::Tensor& mean;  // of the other rows' targets
  const at::Tensor& output;
};

// How a picture that the model draws is judged: its mean squared error on the region that should change (all
// of it where nothing should), beside answers that need no learning; the error elsewhere is a figure beside
// it, without which a region of one colour could be flooded. With a single row there is no other row to take
// the mean of: NaN.
struct PictureExam {
  std::string input = "image";              // column
  std::string target = "target";            // column
  std::string mean_answer = "mean target";  // name of the answer "the mean of the other rows' targets"
  bool input_is_an_answer = false;          // also judge returning the input
  // Where something is left out, the region that changes is always white, and white would be perfect in it.
  // So the error is the mean of three: of that region, of the pixels outside of it that the mean answer has
  // wrong (what must stay), and of all others; a row that lacks one has the mean of the rest.
  bool judge_what_stays = false;
  std::string output = "image";  // of the model
  std::function<ModelInputs(EvalPass&)> inputs;
  std::function<void(const JudgedPictures&, Outcomes&)> more = {};  // adds figures of its own
};
// Looks at the rows twice: the mean must be known before the first of them is judged.
Outcomes JudgePictures(EvalContext& context, const RowRange& rows, const PictureExam& exam);

// The sum of a byte column of pictures over the rows, [1, 3, size, size] double.
at::Tensor SumOfPictures(EvalContext& context, const RowRange& rows, const std::string& column);
// For each picture, [rows, 3, size, size], the mean of the others of those that were added up to `sum`, which
// are so many: its own, in it, would be an answer that nobody has. NaN where there is no other.
at::Tensor MeanOfOthers(const at::Tensor& sum, std::int64_t count, const at::Tensor& pictures);

// Pictures of the same rows beside each other, as one wide picture each.
at::Tensor SideBySide(const std::vector<at::Tensor>& pictures);

// The value of a row that does not count in an outcome.
inline constexpr double kNotCounted = std::numeric_limits<double>::quiet_NaN();
// Adds the values of some rows to an outcome.
void AppendRows(std::vector<double>& outcome, const at::Tensor& values);

}  // namespace medley
