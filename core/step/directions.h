#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <medley/step/lent_weights.h>
#include <medley/step/master_weights.h>

namespace medley {

// Where weights may be going: the way from the average to the weights, which the average follows; the slope
// of a least-squares line through five snapshots of the weights; what the last step moved.
enum class Direction { kTrend, kLine, kLastStep };
std::string NameOf(Direction direction);  // "trend", "line", "last_step"

// So many times that way. The line's is ten times what it moves from one snapshot to the next.
struct Displacement {
  Direction direction = Direction::kTrend;
  double times = 0;
};

// Follows the weights of a model that trains, and moves them along a direction, or lets the model compute as
// if they were moved. All in float at least: masters and averages. All its memory is allocated when it is
// made. On the trainer's thread, between two steps.
class Directions {
 public:
  static constexpr int kSnapshots = 5;
  // Handles. `line`: a buffer; `last_step`: likewise, or undefined where nobody asks for it.
  struct Weight {
    at::Tensor parameter, master, average, line, last_step;
  };
  // The masters outlive it.
  Directions(std::vector<Weight> weights, const MasterWeights& masters);

  // Before and after an update, which may leave some weights alone: the last step's displacement.
  void Leave() const;
  void Arrive() const;
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
  LentWeights Moved(at::Tensor Weight::*from, const Displacement& displacement,
                    const std::function<void(at::Tensor&)>& meddle) const;
  at::Tensor RoomFor(const Weight& weight, std::size_t index) const;
  static void Write(const Weight& weight, Direction direction, const at::Tensor& out);

  std::vector<Weight> weights_;
  const MasterWeights& masters_;
  // Of a weight that is its own master, whose memory is lent; all others share one, whose values are rounded
  // into the parameter at once.
  std::vector<at::Tensor> rooms_;
  at::Tensor shared_;
  std::int64_t scratch_bytes_ = 0;
  std::vector<at::Tensor> masters_list_, lines_, last_steps_;
  std::function<void(at::Tensor&)> meddle_;
};

}  // namespace medley
