#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <medley/step/step_executor.h>

namespace medley {

// What a step adds up, on the device: reading a value earlier would wait for the device.
class TermSums {
 public:
  explicit TermSums(at::Device device) : device_(device) {}

  void Add(const std::string& task, const std::string& term, const at::Tensor& sum);
  // Waits for the device.
  void Read(StepLosses& losses) const;

 private:
  at::Device device_;
  std::map<std::pair<std::string, std::string>, at::Tensor> totals_;
};

// Where one backward of a task begins: the sums of terms and the carries, with the gradients that they start
// with. Keeps references.
class Roots {
 public:
  // `in_backward` is true while Backward runs, and after one that threw.
  Roots(std::map<std::string, TermLoss>& losses, const std::string& task, TermSums& sums, bool& in_backward)
      : losses_(losses), task_(task), sums_(sums), in_backward_(in_backward) {}

  // Each with the gradient weight / count.
  void Add(const Sums& sums);
  // A tensor without a graph, or an undefined gradient, adds nothing.
  void Add(const at::Tensor& carry, const at::Tensor& gradient);
  void Backward();

 private:
  std::map<std::string, TermLoss>& losses_;
  const std::string& task_;
  TermSums& sums_;
  bool& in_backward_;
  std::vector<at::Tensor> roots_, gradients_;
};

}  // namespace medley
