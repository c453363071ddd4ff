#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <medley/plugin/loaded_task.h>
#include <medley/report/statistics.h>
#include <medley/task/batch.h>

namespace medley {

// The hash of everything that the task put into a row of the batch.
std::string HashOfRow(const Batch& batch, std::int64_t row);

// Which item each row of an evaluation shows: by the task's ItemStream. Of a task that names none, rows that
// are equal in every byte are one item, unless its spec says that rows repeat.
class ItemsOfRows {
 public:
  explicit ItemsOfRows(const LoadedTask& task) : task_(task), stream_(task.Items()) {}

  // Adds rows in their order.
  void Add(const Batch& rows);
  const RowItems& items() const { return items_; }

 private:
  const LoadedTask& task_;
  const ItemStream* stream_;
  std::map<std::string, std::int64_t> seen_;
  RowItems items_;
};

// How many rows an evaluation has where `rows` are wanted: of finite data at most one for each held-out item.
std::int64_t RowsOnce(const LoadedTask& task, std::int64_t rows);

inline constexpr std::int64_t kComparedRows = 4096;

// The seed of a run's rows, and the one of what it evaluates (eval.seed).
struct RowSeeds {
  std::uint64_t training = 0, evaluation = 0;
};

// The share of the task's first held-out rows that are, in every byte of their columns, also among the first
// kComparedRows of training.
double SeenInTraining(const LoadedTask& task, const RowSeeds& seeds, std::int64_t held_out_rows);

// What to tell the user of a task's evaluation; "" where no row was seen, or the spec says that rows repeat.
std::string OverlapWarning(const LoadedTask& task, const RowSeeds& seeds, std::int64_t held_out_rows);

}  // namespace medley
