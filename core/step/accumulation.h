#pragma once

#include <cstdint>

namespace medley {

// Rows of one forward, and how many forwards add up to one optimizer step.
struct Accumulation {
  std::int64_t rows = 0;
  std::int64_t steps = 0;
  bool operator==(const Accumulation&) const = default;
};

// Rows of one forward of a draw; `micro_rows` 0: all of them.
constexpr std::int64_t RowsAtOnce(std::int64_t micro_rows, std::int64_t rows) {
  return micro_rows > 0 && micro_rows < rows ? micro_rows : rows;
}

// Cuts the target into as few forwards as fit, all of the same size: a divisor of the target, so that rows
// times steps is the target, where one is near. 16 rows of which 3 fit are 8 times 2 rather than 6 times 3,
// the last of them one row; but 61 rows of which 40 fit are twice 31, the last 30, rather than 61 times 1.
// {0, 0} where nothing fits.
constexpr Accumulation Accumulate(std::int64_t target, std::int64_t fit) {
  if (target < 1 || fit < 1) return {};
  const std::int64_t steps = (target + fit - 1) / fit, even = (target + steps - 1) / steps;
  std::int64_t rows = even;
  while (target % rows != 0) --rows;
  if (target / rows < 2 * steps) return {.rows = rows, .steps = target / rows};
  return {.rows = even, .steps = steps};
}

}  // namespace medley
