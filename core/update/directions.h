#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <medley/update/follower.h>
#include <medley/update/master_weights.h>

namespace medley {

// Where weights may be going: the way from the average to the weights, which the average follows; the slope
// of a least-squares line through five snapshots of the weights; what the last step moved.
enum class Direction { kTrend, kLine, kLastStep };
template <>
struct EnumNames<Direction> {
  static constexpr std::array<std::string_view, 3> kNames = {"trend", "line", "last_step"};
};

// So many times that way. The line's is ten times what it moves from one snapshot to the next.
struct Displacement {
  Direction direction = Direction::kTrend;
  double times = 0;
};

// Follows the weights of a model that trains, and moves them along a direction, or lets the model compute as
// if they were moved. All in float at least: masters and averages. On the trainer's thread, between two
// steps.
class Directions : public Follower {
 public:
  static constexpr int kSnapshots = 5;
  // Handles of the parameters of the weights and of these, in one order. `keeps_last_step`: whether anybody
  // asks for what it moved. The masters outlive it, and so does the average, which it follows.
  Directions(std::vector<at::Tensor> parameters, std::vector<at::Tensor> weights,
             const WeightAverage& average, bool keeps_last_step, const MasterWeights& masters);

  // The last step's displacement.
  void Leave(const Touched& touched) override;
  void Arrive(const Touched& touched) override;
  // The weights are now those of snapshot 0 to 4; with 0 a new line begins, after 4 it is whole.
  void Snapshot(int number) const;

  // The model computes with the averages, or with the weights, moved. The next call overwrites what these
  // have, so one of them lives at a time. Errors as LentWeights::Lend's, for what `meddle` made.
  LentWeights MovedAverages(const Displacement& displacement);
  LentWeights MovedWeights(const Displacement& displacement);
  // Moves weights and averages by one displacement. Allocates nothing.
  void Move(const Displacement& displacement);

  // Bytes of what it computes in, beside the buffers that it was given.
  std::int64_t scratch_bytes() const { return scratch_bytes_; }

  // For tests: what a moved average is, may be changed before the model gets it.
  void SetMeddler(std::function<void(at::Tensor&)> meddle) { meddle_ = std::move(meddle); }

 private:
  LentWeights Moved(const std::vector<at::Tensor>& from, const Displacement& displacement,
                    const std::function<void(at::Tensor&)>& meddle) const;
  at::Tensor RoomFor(std::size_t weight) const;
  void Write(std::size_t weight, Direction direction, const at::Tensor& out) const;
  const std::vector<at::Tensor>& lines() const { return buffers(0); }
  const std::vector<at::Tensor>& last_steps() const { return buffers(1); }

  std::vector<at::Tensor> parameters_;
  const std::vector<at::Tensor>& averages_;
  const bool keeps_last_step_;
  const MasterWeights& masters_;
  // Of a weight that is its own master, whose memory is lent; all others share one, whose values are rounded
  // into the parameter at once.
  std::vector<at::Tensor> rooms_;
  at::Tensor shared_;
  std::int64_t scratch_bytes_ = 0;
  std::function<void(at::Tensor&)> meddle_;
};

}  // namespace medley
