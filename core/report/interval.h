#pragma once

#include <limits>

namespace medley {

// A mean and where the true one lies with 95 % confidence. Fewer than two independent values tell nothing of
// that: the ends are NaN, and so is the mean of no value.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// The range that the values of a figure can be in; an infinite end is none.
struct ScoreRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

}  // namespace medley
