#include <medley/update/follower.h>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

namespace medley {

Follower::Follower(std::vector<std::string> endings, std::vector<at::Tensor> weights)
    : endings_(std::move(endings)), weights_(std::move(weights)), buffers_(endings_.size()) {
  for (std::vector<at::Tensor>& kind : buffers_) {
    for (const at::Tensor& weight : weights_) kind.push_back(at::zeros_like(weight));
  }
}

void Follower::Reset() {
  for (const std::vector<at::Tensor>& kind : buffers_) at::_foreach_zero_(kind);
}

std::vector<at::Tensor> Follower::Some(const std::vector<at::Tensor>& all, const Touched& touched) {
  std::vector<at::Tensor> some;
  for (const std::size_t weight : touched.weights) some.push_back(all[weight]);
  return some;
}

WeightAverage::WeightAverage(double decay, std::vector<at::Tensor> weights)
    : Follower({kAverageOf}, std::move(weights)), decay_(decay) {
  WeightAverage::Begin();
}

void WeightAverage::Begin() { at::_foreach_copy_(buffers(), weights()); }

void WeightAverage::Arrive(const Touched& touched) {
  if (!touched.weights.empty())
    at::_foreach_lerp_(Some(buffers(), touched), Some(weights(), touched), 1 - decay_);
}

WeightTrend::WeightTrend(const TrendConfig& config, double full_rate, std::vector<at::Tensor> weights)
    : Follower({".trend"}, std::move(weights)),
      config_(config),
      full_rate_(full_rate),
      kept_(at::empty({}, buffers().front().options())) {}

// The weights before the update are taken off here, so that no copy of them is needed: what that rounds is
// (1 - gamma) of what the update itself rounds.
void WeightTrend::Leave(const Touched& touched) {
  if (touched.weights.empty()) return;
  const std::vector<at::Tensor> trends = Some(buffers(), touched);
  const double fresh = 1 - config_.gamma;
  const bool shifts = touched.learning_rate >= full_rate_;
  at::_foreach_mul_(trends, kept_.fill_(config_.gamma + (shifts ? fresh * config_.beta : 0)));
  at::_foreach_add_(trends, Some(weights(), touched), -fresh);
}

void WeightTrend::Arrive(const Touched& touched) {
  if (touched.weights.empty()) return;
  const std::vector<at::Tensor> trends = Some(buffers(), touched), moved = Some(weights(), touched);
  at::_foreach_add_(trends, moved, 1 - config_.gamma);
  if (touched.learning_rate >= full_rate_) at::_foreach_add_(moved, trends, config_.beta);
}

}  // namespace medley
