#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <medley/plugin/plugin_host.h>
#include <medley/task/batch.h>

namespace medley {

// Rows for measuring: the task's own, as long as they can be. The heaviest of a few hundred is repeated, so
// that no draw of as many rows is heavier. Where rows that have as many items have them in different places
// (one of several passes, say) each kind is kept.
class ProbeRows {
 public:
  // Samples. Errors name plugin, task and phase.
  ProbeRows(const LoadedTask& task, std::uint64_t task_seed);

  std::size_t kinds() const { return kinds_.size(); }
  // On the CPU, owned by the data side as in training.
  Batch Make(std::size_t kind, std::int64_t rows) const;
  // Bytes of a sampled row, with what sampling takes for a moment.
  std::int64_t bytes_per_row() const { return bytes_per_row_; }

 private:
  void Scan(const Batch& rows);

  std::vector<Batch> kinds_;  // one row each
  std::vector<std::vector<std::int64_t>> shapes_;
  std::int64_t most_items_ = -1;
  bool vary_ = false;  // do rows have different numbers of items?
  std::int64_t bytes_per_row_ = 0;
};

}  // namespace medley
