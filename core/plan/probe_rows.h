#pragma once

#include <cstdint>
#include <optional>

#include <medley/plugin/loaded_task.h>
#include <medley/task/batch.h>

namespace medley {

// Rows for measuring: a task's own, as long as they can be, such that no draw of as many rows takes more.
//
// Where a task's longest rows are of a few kinds (they have their items in different places, because each
// makes another pass) there is a batch for each kind: one row of every other kind, for a batch is as wide as
// its widest row, and that kind for the rest. What a step takes is linear in the number of rows of each kind,
// so one of these batches takes the most. Where rows differ all the same (a task that does not heed
// RowRange::longest) the one with the most items of a few hundred is repeated.
class ProbeRows {
 public:
  // Samples 32 rows, or 256 where those are of more than 8 kinds, on the trainer's thread and as its memory,
  // whose peak it resets. Keeps no reference. Errors name plugin, task and activity; c10::OutOfMemoryError
  // passes.
  ProbeRows(const LoadedTask& task, std::uint64_t task_seed);

  std::int64_t kinds() const { return rows_->size(); }
  // Makes rows for so many forwards of so many rows each. On the CPU, owned by the data side as in training.
  // `kind`: below kinds().
  Batch Make(std::int64_t kind, std::int64_t rows, std::int64_t forwards = 1) const;
  // Bytes of a sampled row, with what sampling takes for a moment.
  std::int64_t bytes_per_row() const { return bytes_per_row_; }

 private:
  Batch Sample(const LoadedTask& task, std::uint64_t seed, std::int64_t begin);

  std::optional<Batch> rows_;  // one of each kind
  std::int64_t bytes_per_row_ = 0;
};

}  // namespace medley
