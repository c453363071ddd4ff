#include <medley/task/drivers/sheet.h>

#include <ATen/ops/cat.h>

#include <algorithm>
#include <utility>

namespace medley {

void Sheet::Add(const at::Tensor& input, const at::Tensor& target, const at::Tensor& output) {
  const std::size_t rows = std::min(static_cast<std::size_t>(input.size(0)), kSheetRows - rows_);
  if (rows == 0) return;
  const auto add = [rows](std::vector<at::Tensor>& column, const at::Tensor& pictures) {
    if (!pictures.defined()) return;
    const at::Tensor shown = pictures.narrow(0, 0, static_cast<std::int64_t>(rows));
    column.push_back(shown.clamp(0, 1).mul_(255).round_().to(at::kCPU, at::kByte));
  };
  add(inputs_, input);
  add(targets_, target);
  add(outputs_, output);
  rows_ += rows;
}

void Sheet::Add(std::size_t row, Answer answer) {
  if (!Shows(row)) return;
  answers_.resize(std::max(answers_.size(), row + 1));
  answers_[row].push_back(std::move(answer));
}

void Sheet::MoveTo(Outcomes& outcomes) {
  const auto whole = [](const std::vector<at::Tensor>& column) {
    return column.empty() ? at::Tensor() : at::cat(column);
  };
  outcomes.input = whole(inputs_);
  outcomes.target = whole(targets_);
  outcomes.output = whole(outputs_);
  outcomes.answers = std::move(answers_);
}

}  // namespace medley
