#pragma once

#include <cstdint>

#include <medley/base/random.h>

namespace medley {

// What rows are for. A task over finite data keeps its items apart by it (data/item_stream.h); rows that are
// made up without end differ by their seed alone.
enum class Split { kTraining, kHeldOut };

// Rows of a task's endless stream. The seed belongs to the run (or to its evaluation) and the task, so
// that row r is the same whatever range, micro-batch, thread or rank it is drawn in.
struct RowRange {
  std::uint64_t seed = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
  // Asks for rows as long as the task's can be: the longest text of every table, the most items. For the
  // memory planner's probes; they are never trained on. A task whose rows are all alike may ignore it.
  bool longest = false;
  Split split = Split::kTraining;

  // The random numbers of row `row` (an absolute number, begin <= row < begin + count).
  RowRandom Random(std::int64_t row, std::uint64_t stream = 0) const {
    return RowRandom(CombineSeeds(CombineSeeds(seed, static_cast<std::uint64_t>(row)), stream));
  }

  // `rows` of these rows, the first of them `from` rows behind the first of these.
  RowRange Part(std::int64_t from, std::int64_t rows) const {
    RowRange part = *this;
    part.begin += from;
    part.count = rows;
    return part;
  }
};

}  // namespace medley
