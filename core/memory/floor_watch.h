#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace medley {

// Watches what the steps of one task leave behind. Nothing should stay: what does, step after step, is a
// leak. Looks at nothing but the figures that it is given; remembers those of the last 50 steps.
class FloorWatch {
 public:
  // Bytes that may stay, for a run with this budget; a slope in bytes a step.
  static double LeastSlope(std::int64_t budget);   // max(1 KiB, 1e-5 of the budget)
  static double LeastAtOnce(std::int64_t budget);  // 0.5 % of the budget

  explicit FloorWatch(std::int64_t budget) : budget_(budget) {}

  struct Leak {
    double bytes_per_step = 0;  // the least-squares slope, or what one step kept
    std::int64_t kept = 0;      // over the steps that were looked at
    std::int64_t steps = 0;     // how many these are
  };
  // `kept`: what this step left behind, below 0 where it freed more. A slope is judged over the last 50 steps
  // and where at least three of them grew: a cache that is built once is no leak. The first two steps, which
  // warm things up, do not count.
  std::optional<Leak> Add(std::int64_t kept);

 private:
  double Slope() const;

  std::int64_t budget_;
  std::int64_t seen_ = 0, sum_ = 0;
  std::deque<std::int64_t> sums_;  // of all that was kept, after each of the last steps
};

}  // namespace medley
