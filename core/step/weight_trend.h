#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/config/optimizer_config.h>

namespace medley {

// EMA-Nesterov (2026, arXiv 2605.25395) behind an update instead of before a forward, for nobody knows before
// which parameters a step touches:
//   trend   <- gamma trend + (1 - gamma) (update + beta trend)
//   weights <- weights + beta trend
// so the displacement that is smoothed has the shift in it which the gradient was taken with, and weights
// that drift steadily move 1 / (1 - beta) times as fast. While it is off beta is 0: the trend follows all the
// same.
//
// One buffer a parameter, made by who calls; allocates nothing.
class WeightTrend {
 public:
  using Tensors = std::vector<at::Tensor>;
  // `options`: of the weights.
  WeightTrend(const TrendConfig& config, const at::TensorOptions& options);

  // Before and after an update of these weights, which are not empty; `trends` of them, in their order.
  void Leave(const Tensors& weights, const Tensors& trends, bool shifts);
  void Arrive(const Tensors& weights, const Tensors& trends, bool shifts) const;

 private:
  TrendConfig config_;
  at::Tensor kept_;  // a scalar: a number would be allocated at each use
};

}  // namespace medley
