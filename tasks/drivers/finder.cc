#include "tasks/drivers/finder.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <array>
#include <cstdint>
#include <vector>

#include <medley/task/batch.h>

#include "tasks/world/canvas.h"
#include "tasks/world/state.h"

namespace medley::tasks {
namespace {

constexpr double kSurely = 0.9;                   // a mask's value from which on an object counts as found
constexpr double kReach = 6.0 / 128, kAreas = 2;  // how far off, and how many times the area, is still right

// In the order in which their gradients are added up.
constexpr std::array kColors = {world::kBodyColor, world::kEyeColor, world::kGoldColor};

// How much each pixel has each colour, [colours, rows, size, size] in [0, 1]: 1, 0.46 and 0.04 at a mean
// squared difference of 0, 0.05 and 0.1.
at::Tensor Masks(const at::Tensor& picture) {
  std::vector<double> numbers;
  for (const world::Color& color : kColors)
    for (const int part : {color.r, color.g, color.b}) numbers.push_back(part / 255.0);
  const at::Tensor on_host = at::tensor(numbers, picture.options().device(at::kCPU));
  const at::Tensor wanted = ToDevice(on_host, picture.device()).view({-1, 1, 3, 1, 1});
  const at::Tensor difference =
      at::stack({picture.sub(wanted[0]), picture.sub(wanted[1]), picture.sub(wanted[2])}).square().mean(2);
  // Clamped: the exponent is even, so that without it far away pixels would have the colour again.
  const at::Tensor closeness = difference.neg().add(1.05).clamp_min(0).pow(50);
  return closeness.mul(0.5).tanh();  // = 2 sigmoid(closeness) - 1
}

struct Blob {
  at::Tensor centre, radius, found;
};

// Of masks [rows, size, size].
std::vector<Blob> BlobsOf(const std::vector<at::Tensor>& of) {
  const at::Tensor masks = at::stack(of);
  const std::int64_t size = masks.size(-1);
  const double side = static_cast<double>(size);
  const at::Tensor place = at::arange(size, masks.options()).div_(side);
  const at::Tensor weight = masks.sum({2, 3});
  // What is added keeps an empty mask from 0/0, and its radius from the root's infinite slope at 0.
  const at::Tensor divisor = weight.add(1e-6);
  const at::Tensor row = masks.sum(3).mul(place).sum(2).div(divisor);
  const at::Tensor column = masks.sum(2).mul(place).sum(2).div(divisor);
  const auto centres = at::stack({row, column}, 2).unbind(),
             radii = weight.div(side * side * world::kPi).add(1e-9).sqrt().unbind(),
             found = masks.detach().flatten(2).amax(2).gt(kSurely).unbind();
  std::vector<Blob> blobs;
  for (std::size_t i = 0; i < of.size(); ++i) blobs.push_back({centres[i], radii[i], found[i]});
  return blobs;
}

Blob AgentOf(const Estimate& e) { return {e.agent, e.agent_radius, e.agent_found}; }
Blob GoldOf(const Estimate& e) { return {e.gold, e.gold_radius, e.gold_found}; }

// Less than a pixel of 128; what covers the rim of an object that stays, as an arrow does, moves it by less.
constexpr double kSamePlace = 0.4 / 128, kSameDirection = 0.15;
constexpr double kRightDirection = world::kPi / 6;  // of an agent that turns

// Whether an object is shown by both in one place and size, [rows] bool.
at::Tensor IsSame(const Blob& a, const Blob& b) {
  return a.found.logical_and(b.found)
      .logical_and(Distance(a.centre, b.centre).le(kSamePlace))
      .logical_and(a.radius.sub(b.radius).abs().le(kSamePlace));
}

// Radians from 0 to pi.
at::Tensor Turn(const Estimate& a, const Estimate& b) {
  return a.direction.sub(b.direction).cos().clamp(-1, 1).acos();
}

at::Tensor LooksTheSameWay(const Estimate& a, const Estimate& b) {
  return Turn(a, b).le(kSameDirection).logical_or(a.eye_found.logical_or(b.eye_found).logical_not());
}

// Adds up objects of rows.
class Share {
 public:
  explicit Share(const at::Tensor& like) : counted_(at::zeros_like(like, at::kDouble)), right_(counted_) {}
  void Add(const at::Tensor& counts, const at::Tensor& is_right) {
    counted_ = counted_.add(counts);
    right_ = right_.add(counts.logical_and(is_right));
  }
  at::Tensor value() const { return right_.div(counted_); }  // 0/0 where there are none

 private:
  at::Tensor counted_, right_;
};

}  // namespace

Estimate EstimateObjects(const at::Tensor& picture) {
  const at::Tensor floats = picture.scalar_type() == at::kDouble ? picture : picture.to(at::kFloat);
  const std::vector<at::Tensor> masks = Masks(floats).unbind();
  const at::Tensor &body = masks[0], &eye = masks[1], &gold_mask = masks[2];
  const std::vector<Blob> drawn = BlobsOf({body.add(eye), gold_mask});
  const Blob &agent = drawn[0], &gold = drawn[1];

  const at::NoGradGuard no_grad;
  const std::vector<Blob> parts = BlobsOf({eye, body});
  const Blob& eye_blob = parts[0];
  const at::Tensor ahead = eye_blob.centre.sub(parts[1].centre);
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

Found ShareFound(const Estimate& drawn, const Expected& expected, const at::Tensor& zoom) {
  const at::NoGradGuard no_grad;
  const auto& [target, input] = expected;
  const at::Tensor reach = zoom.to(target.agent.options()).mul(kReach);
  Share changed(reach), kept(reach);
  const auto add = [&](const Blob& blob, const Blob& wanted, const Blob& before, const at::Tensor& stays,
                       const at::Tensor& fits) {
    const at::Tensor is_right = at::where(wanted.found, fits, blob.found.logical_not());
    changed.Add(wanted.found.logical_or(before.found).logical_and(stays.logical_not()), is_right);
    kept.Add(stays, is_right);
  };
  const auto fits = [&](const Blob& blob, const Blob& wanted) {
    const at::Tensor area = blob.radius.div(wanted.radius).square();
    return blob.found.logical_and(Distance(blob.centre, wanted.centre).le(reach))
        .logical_and(area.ge(1 / kAreas))
        .logical_and(area.le(kAreas));
  };
  add(GoldOf(drawn), GoldOf(target), GoldOf(input), IsSame(GoldOf(target), GoldOf(input)),
      fits(GoldOf(drawn), GoldOf(target)));
  // Of an agent that only turns a copy has the place and the area: there it must look the right way, too.
  const at::Tensor stands = IsSame(AgentOf(target), AgentOf(input)),
                   same_way = LooksTheSameWay(target, input);
  const at::Tensor looks = Turn(drawn, target).le(kRightDirection).logical_and(drawn.eye_found);
  const at::Tensor only_turns = stands.logical_and(same_way.logical_not());
  add(AgentOf(drawn), AgentOf(target), AgentOf(input), stands.logical_and(same_way),
      fits(AgentOf(drawn), AgentOf(target)).logical_and(only_turns.logical_not().logical_or(looks)));
  return {.changed = changed.value(), .kept = kept.value()};
}

}  // namespace medley::tasks
