#include <medley/step/directions.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_neg.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sub.h>

#include <algorithm>

namespace medley {

std::string NameOf(Direction direction) {
  switch (direction) {
    case Direction::kTrend:
      return "trend";
    case Direction::kLine:
      return "line";
    case Direction::kLastStep:
      return "last_step";
  }
  return "";
}

Directions::Directions(std::vector<Weight> weights, const MasterWeights& masters)
    : weights_(std::move(weights)), masters_(masters) {
  std::int64_t largest = 0;
  for (Weight& weight : weights_) {
    weight.master = weight.master.detach();
    const bool own = weight.master.is_same_size(weight.parameter) &&
                     weight.master.scalar_type() == weight.parameter.scalar_type();
    rooms_.push_back(own ? at::empty_like(weight.master) : at::Tensor());
    if (own) scratch_bytes_ += static_cast<std::int64_t>(rooms_.back().nbytes());
    if (!own) largest = std::max(largest, weight.master.numel());
    masters_list_.push_back(weight.master);
    lines_.push_back(weight.line);
    if (weight.last_step.defined()) last_steps_.push_back(weight.last_step);
  }
  if (largest == 0) return;
  shared_ = at::empty({largest}, weights_.front().line.options());
  scratch_bytes_ += static_cast<std::int64_t>(shared_.nbytes());
}

void Directions::Leave() const {
  if (last_steps_.empty()) return;
  at::_foreach_copy_(last_steps_, masters_list_);
  at::_foreach_neg_(last_steps_);
}

void Directions::Arrive() const {
  if (!last_steps_.empty()) at::_foreach_add_(last_steps_, masters_list_);
}

// The slope of five points at -2, -1, 0, 1 and 2 is the sum of each times its place, over 10.
void Directions::Snapshot(int number) const {
  const at::NoGradGuard no_gradients;
  if (number == 0) at::_foreach_zero_(lines_);
  const int place = number - kSnapshots / 2;
  if (place != 0) at::_foreach_add_(lines_, masters_list_, place);
}

at::Tensor Directions::RoomFor(const Weight& weight, std::size_t index) const {
  if (rooms_[index].defined()) return rooms_[index];
  return shared_.narrow(0, 0, weight.master.numel()).view(weight.master.sizes());
}

void Directions::Write(const Weight& weight, Direction direction, const at::Tensor& out) {
  at::Tensor to = out;
  switch (direction) {
    case Direction::kTrend:
      at::sub_out(to, weight.master, weight.average);
      return;
    case Direction::kLine:
      to.copy_(weight.line);
      return;
    case Direction::kLastStep:
      to.copy_(weight.last_step);
      return;
  }
}

LentWeights Directions::MovedAverages(const Displacement& displacement) {
  return Moved(&Weight::average, displacement, meddle_);
}

LentWeights Directions::MovedWeights(const Displacement& displacement) {
  return Moved(&Weight::master, displacement, {});
}

LentWeights Directions::Moved(at::Tensor Weight::*from, const Displacement& displacement,
                              const std::function<void(at::Tensor&)>& meddle) const {
  const at::NoGradGuard no_gradients;
  LentWeights lent(masters_);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    at::Tensor room = RoomFor(weights_[i], i);
    Write(weights_[i], displacement.direction, room);
    at::add_out(room, weights_[i].*from, room, displacement.times);
    if (meddle) meddle(room);
    lent.Lend(weights_[i].parameter, room);
  }
  return lent;
}

// By the same operations as the values that were lent, so that these are the weights then, bit for bit.
void Directions::Move(const Displacement& displacement) {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    Weight& weight = weights_[i];
    at::Tensor room = RoomFor(weight, i);
    Write(weight, displacement.direction, room);
    at::add_out(weight.average, weight.average, room, displacement.times);
    at::add_out(weight.master, weight.master, room, displacement.times);
  }
  masters_.Round();
}

}  // namespace medley
