#pragma once

#include <cstdint>

#include <medley/base/random.h>

namespace medley {

// Rows of a task's endless stream. The seed belongs to the run (or to its evaluation) and the task, so
// that row r is the same whatever range, micro-batch, thread or rank it is drawn in.
struct RowRange {
  std::uint64_t seed = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  // Asks for rows as long as the task's can be: the longest text of every table, the most items. For the
  // memory planner's probes; they are never trained on. A task whose rows are all alike may ignore it.
  bool longest = false;

  // The random numbers of row `row` (an absolute number, begin <= row < begin + count).
  RowRandom Random(std::int64_t row, std::uint64_t stream = 0) const {
    return RowRandom(CombineSeeds(CombineSeeds(seed, static_cast<std::uint64_t>(row)), stream));
  }
};

}  // namespace medley
