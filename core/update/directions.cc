#include <medley/update/directions.h>

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

Directions::Directions(std::vector<at::Tensor> parameters, std::vector<at::Tensor> weights,
                       const WeightAverage& average, bool keeps_last_step, const MasterWeights& masters)
    : Follower(keeps_last_step ? std::vector<std::string>{".line", ".last_step"}
                               : std::vector<std::string>{".line"},
               std::move(weights)),
      parameters_(std::move(parameters)),
      averages_(average.buffers()),
      keeps_last_step_(keeps_last_step),
      masters_(masters) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& weight = this->weights()[i];
    const bool own = weight.scalar_type() == parameters_[i].scalar_type();
    rooms_.push_back(own ? at::empty_like(weight) : at::Tensor());
    if (own) scratch_bytes_ += static_cast<std::int64_t>(rooms_.back().nbytes());
    if (!own) largest = std::max(largest, weight.numel());
  }
  if (largest == 0) return;
  shared_ = at::empty({largest}, lines().front().options());
  scratch_bytes_ += static_cast<std::int64_t>(shared_.nbytes());
}

void Directions::Leave(const Touched& /*touched*/) {
  if (!keeps_last_step_) return;
  at::_foreach_copy_(last_steps(), weights());
  at::_foreach_neg_(last_steps());
}

void Directions::Arrive(const Touched& /*touched*/) {
  if (keeps_last_step_) at::_foreach_add_(last_steps(), weights());
}

// The slope of five points at -2, -1, 0, 1 and 2 is the sum of each times its place, over 10.
void Directions::Snapshot(int number) const {
  const at::NoGradGuard no_gradients;
  if (number == 0) at::_foreach_zero_(lines());
  const int place = number - kSnapshots / 2;
  if (place != 0) at::_foreach_add_(lines(), weights(), place);
}

at::Tensor Directions::RoomFor(std::size_t weight) const {
  if (rooms_[weight].defined()) return rooms_[weight];
  const at::Tensor& master = weights()[weight];
  return shared_.narrow(0, 0, master.numel()).view(master.sizes());
}

void Directions::Write(std::size_t weight, Direction direction, const at::Tensor& out) const {
  at::Tensor to = out;
  if (direction == Direction::kTrend) {
    at::sub_out(to, weights()[weight], averages_[weight]);
  } else {
    to.copy_(direction == Direction::kLine ? lines()[weight] : last_steps()[weight]);
  }
}

LentWeights Directions::MovedAverages(const Displacement& displacement) {
  return Moved(averages_, displacement, meddle_);
}

LentWeights Directions::MovedWeights(const Displacement& displacement) {
  return Moved(weights(), displacement, {});
}

LentWeights Directions::Moved(const std::vector<at::Tensor>& from, const Displacement& displacement,
                              const std::function<void(at::Tensor&)>& meddle) const {
  const at::NoGradGuard no_gradients;
  LentWeights lent(masters_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor room = RoomFor(i);
    Write(i, displacement.direction, room);
    at::add_out(room, from[i], room, displacement.times);
    if (meddle) meddle(room);
    lent.Lend(parameters_[i], room);
  }
  return lent;
}

// By the same operations as the values that were lent, so that these are the weights then, bit for bit.
void Directions::Move(const Displacement& displacement) {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor room = RoomFor(i), average = averages_[i], weight = weights()[i];
    Write(i, displacement.direction, room);
    at::add_out(average, average, room, displacement.times);
    at::add_out(weight, weight, room, displacement.times);
  }
  masters_.Round();
}

}  // namespace medley
