#pragma once

#include <cstdint>

namespace medley {

// Rows of one forward, and how many forwards add up to one optimizer step.
struct Accumulation {
  std::int64_t rows = 0;
  std::int64_t steps = 0;
  bool operator==(const Accumulation&) const = default;
};

// How many rows fit where `fixed` bytes are taken whatever their number. In integers: a budget that is just
// enough is enough.
constexpr std::int64_t RowsThatFit(std::int64_t budget, std::int64_t fixed, std::int64_t per_row) {
  return budget > fixed ? (budget - fixed) / per_row : 0;
}

// The largest divisor of the target that fits, so that rows times steps is the target: 5 of 8 rows would
// leave a rest, and 4 take as many steps. {0, 0} where nothing fits.
constexpr Accumulation Accumulate(std::int64_t target, std::int64_t fit) {
  for (std::int64_t rows = fit < target ? fit : target; rows > 0; --rows) {
    if (target % rows == 0) return {.rows = rows, .steps = target / rows};
  }
  return {};
}

}  // namespace medley
