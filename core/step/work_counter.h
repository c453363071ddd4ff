#pragma once

#include <atomic>
#include <cstdint>

namespace medley {

// Counts floating-point operations while it lives: what this thread runs, and the engine's threads in a
// backward that this thread began. A multiplication and its addition are two.
//
// Products of matrices, convolutions and attention count, forward and backward, each by the shapes of its
// operands and as often as it runs: layers that are run again count again, and a mask saves nothing. All
// else is 0: element-wise operators, reductions, updates, and kernels that are no operators of libtorch.
// So it is the same number on every machine that runs the same operators.
//
// One at a time in a process. It listens to every operator of its threads, which takes about a microsecond
// each, and changes nothing about them.
class WorkCounter {
 public:
  WorkCounter();
  ~WorkCounter();
  WorkCounter(const WorkCounter&) = delete;
  WorkCounter& operator=(const WorkCounter&) = delete;

  std::int64_t operations() const { return operations_; }

 private:
  friend struct WorkListener;

  std::atomic<std::int64_t> operations_ = 0;
  std::uint64_t callback_ = 0;
};

}  // namespace medley
