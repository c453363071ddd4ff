#include "tasks/drivers/finder.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "tasks/world/canvas.h"
#include "tasks/world/state.h"

namespace medley::tasks {
namespace {

constexpr double kSurely = 0.9;                   // a mask's value from which on an object counts as found
constexpr double kReach = 6.0 / 128, kAreas = 2;  // how far off, and how many times the area, is still right

// How much each pixel has a colour, [rows, size, size] in [0, 1]: 1, 0.46 and 0.04 at a mean squared
// difference of 0, 0.05 and 0.1.
at::Tensor Mask(const at::Tensor& picture, const world::Color& color) {
  const at::Tensor wanted =
      at::tensor({color.r / 255.0, color.g / 255.0, color.b / 255.0}, picture.options()).view({1, 3, 1, 1});
  const at::Tensor difference = picture.sub(wanted).square().mean(1);
  // Clamped: the exponent is even, so that without it far away pixels would have the colour again.
  const at::Tensor closeness = difference.neg().add(1.05).clamp_min(0).pow(50);
  return closeness.mul(0.5).tanh();  // = 2 sigmoid(closeness) - 1
}

struct Blob {
  at::Tensor centre, radius, found;
};

Blob BlobOf(const at::Tensor& mask) {
  const std::int64_t size = mask.size(1);
  const double side = static_cast<double>(size);
  const at::Tensor place = at::arange(size, mask.options()).div_(side);
  const at::Tensor weight = mask.sum({1, 2});
  // What is added keeps an empty mask from 0/0, and its radius from the root's infinite slope at 0.
  const at::Tensor divisor = weight.add(1e-6);
  const at::Tensor row = mask.sum(2).mul(place).sum(1).div(divisor);
  const at::Tensor column = mask.sum(1).mul(place).sum(1).div(divisor);
  return {.centre = at::stack({row, column}, 1),
          .radius = weight.div(side * side * world::kPi).add(1e-9).sqrt(),
          .found = mask.detach().flatten(1).amax(1).gt(kSurely)};
}

Blob AgentOf(const Estimate& e) { return {e.agent, e.agent_radius, e.agent_found}; }
Blob GoldOf(const Estimate& e) { return {e.gold, e.gold_radius, e.gold_found}; }

}  // namespace

Estimate EstimateObjects(const at::Tensor& picture) {
  const at::Tensor floats = picture.scalar_type() == at::kDouble ? picture : picture.to(at::kFloat);
  const at::Tensor body = Mask(floats, world::kBodyColor);
  const at::Tensor eye = Mask(floats, world::kEyeColor);
  const Blob agent = BlobOf(body.add(eye));
  const Blob gold = BlobOf(Mask(floats, world::kGoldColor));

  const at::NoGradGuard no_grad;
  const Blob eye_blob = BlobOf(eye);
  const at::Tensor ahead = eye_blob.centre.sub(BlobOf(body).centre);
  return {.agent = agent.centre,
          .agent_radius = agent.radius,
          .direction = at::atan2(ahead.select(1, 1), ahead.select(1, 0)),
          .gold = gold.centre,
          .gold_radius = gold.radius,
          .agent_found = agent.found,
          .eye_found = eye_blob.found,
          .gold_found = gold.found};
}

at::Tensor Distance(const at::Tensor& a, const at::Tensor& b) { return a.sub(b).square().sum(1).sqrt(); }

at::Tensor ShareFound(const Estimate& drawn, const Estimate& target, const Estimate& input,
                      const at::Tensor& zoom) {
  const at::NoGradGuard no_grad;
  const at::Tensor reach = zoom.to(target.agent.options()).mul(kReach);
  at::Tensor counted = at::zeros_like(reach, at::kDouble), right = counted;
  for (const auto& of : {AgentOf, GoldOf}) {
    const Blob blob = of(drawn), wanted = of(target);
    const at::Tensor area = blob.radius.div(wanted.radius).square();
    const at::Tensor fits = blob.found.logical_and(Distance(blob.centre, wanted.centre).le(reach))
                                .logical_and(area.ge(1 / kAreas))
                                .logical_and(area.le(kAreas));
    const at::Tensor was_shown = of(input).found;
    counted = counted.add(wanted.found.logical_or(was_shown));
    right = right.add(at::where(wanted.found, fits, was_shown.logical_and(blob.found.logical_not())));
  }
  return right.div(counted);  // 0/0 where there are none
}

}  // namespace medley::tasks
