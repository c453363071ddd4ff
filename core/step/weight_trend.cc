#include <medley/step/weight_trend.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/empty.h>

namespace medley {

WeightTrend::WeightTrend(const TrendConfig& config, const at::TensorOptions& options)
    : config_(config), kept_(at::empty({}, options)) {}

// The weights before the update are taken off here, so that no copy of them is needed: what that rounds is
// (1 - gamma) of what the update itself rounds.
void WeightTrend::Leave(const Tensors& weights, const Tensors& trends, bool shifts) {
  const double fresh = 1 - config_.gamma;
  at::_foreach_mul_(trends, kept_.fill_(config_.gamma + (shifts ? fresh * config_.beta : 0)));
  at::_foreach_add_(trends, weights, -fresh);
}

void WeightTrend::Arrive(const Tensors& weights, const Tensors& trends, bool shifts) const {
  at::_foreach_add_(trends, weights, 1 - config_.gamma);
  if (shifts) at::_foreach_add_(weights, trends, config_.beta);
}

}  // namespace medley
