#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/task/task.h>

namespace medley {

// What an evaluation shows of its first rows: what was seen, what should come and what came, and what was
// asked in words.
class Sheet {
 public:
  // The next rows: floats, [rows, 3, height, width] each. A task that draws nothing has an input alone.
  void Add(const at::Tensor& input, const at::Tensor& target = {}, const at::Tensor& output = {});
  // Another answer of a row, counted from 0. Rows that the sheet does not show are dropped.
  void Add(std::size_t row, Answer answer);
  static bool Shows(std::size_t row) { return row < kSheetRows; }
  // Pictures as bytes on the host.
  void MoveTo(Outcomes& outcomes);

 private:
  std::vector<at::Tensor> inputs_, targets_, outputs_;
  std::vector<std::vector<Answer>> answers_;
  std::size_t rows_ = 0;  // of the pictures
};

}  // namespace medley
