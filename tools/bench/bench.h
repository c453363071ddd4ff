#pragma once

// What all benches share.

#include <algorithm>
#include <vector>

namespace medley::bench {

// Of an even number the upper one of the two in the middle. Needs a value.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace medley::bench
