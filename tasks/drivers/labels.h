#pragma once

#include <cstdint>
#include <numeric>

namespace medley::tasks {

// The label of a row: each aligned range of `labels` rows holds every label once, and so does each aligned
// range of passes * labels rows among the rows of one remainder by `passes`. The second keeps labels and
// passes apart where row r makes pass r mod passes: with row mod labels each pass would see some labels only.
constexpr int BalancedLabel(std::int64_t row, int passes, int labels) {
  const std::int64_t period = std::lcm(passes, labels);
  return static_cast<int>((row + row / period) % labels);
}

}  // namespace medley::tasks
