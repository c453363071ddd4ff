#include "tasks/complex_loss/closer.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace medley::tasks {
namespace {

at::Tensor SquaredDistance(const at::Tensor& a, const at::Tensor& b) { return a.sub(b).square().sum(1); }

}  // namespace

at::Tensor AsNumbers(const Estimate& estimate) {
  const at::NoGradGuard no_grad;
  const auto column = [](const at::Tensor& x) { return x.to(at::kDouble).unsqueeze(1); };
  return at::cat({estimate.agent.to(at::kDouble), estimate.gold.to(at::kDouble), column(estimate.direction),
                  column(estimate.agent_found), column(estimate.eye_found), column(estimate.gold_found)},
                 1);
}

at::Tensor CloserLoss(const Estimate& drawn, const Estimate& before) {
  const at::Tensor sizes = drawn.agent_radius.sub(before.agent_radius)
                               .square()
                               .add(drawn.gold_radius.sub(before.gold_radius).square())
                               .mul(100);
  const at::Tensor gold = SquaredDistance(drawn.gold, before.gold).mul(10);
  const at::Tensor way = SquaredDistance(before.gold, drawn.agent)
                             .mul(4)
                             .sub(SquaredDistance(before.gold, before.agent))
                             .clamp_min(0);
  const at::Tensor loss = sizes.add(gold).add(way);
  return at::where(drawn.both_found(), loss, at::zeros_like(loss));
}

at::Tensor DistanceLeft(const Estimate& drawn, const Estimate& before) {
  const at::Tensor now = Distance(before.gold, drawn.agent);
  const at::Tensor then = Distance(before.gold, before.agent);
  return at::where(drawn.both_found(), now.div(then), at::zeros_like(now).add(1));
}

}  // namespace medley::tasks
