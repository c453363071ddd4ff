#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <medley/plugin/loaded_task.h>

namespace medley {

// What a row has, by column and term: numbers that are equal where the contents are.
using RowContents = std::map<std::string, std::uint64_t>;
RowContents ContentsOf(const Batch& one_row);

// Finds rows of a task's stream that are unlike. What a loss makes of rows with one reward, one label or one
// length does not show whether it takes a mean over them.
class UnlikeRows {
 public:
  // `first`: of the rows from there on, one after the other. Keeps the task.
  UnlikeRows(const LoadedTask& task, const RowRange& from, std::vector<RowContents> first);

  // Places of rows: the `base`, and as few others as it takes so that whatever is alike in the rows that were
  // `looked` at, `base` and those after it, and not in all, is unlike in these; at most `most`. Further
  // ranges of the stream are sampled where something is alike in all rows so far.
  std::vector<std::int64_t> Choose(std::int64_t base, std::int64_t looked, std::size_t most);
  // Those of up to 32 rows, from all ranges.
  std::vector<std::int64_t> Spread();

  // The rows at these places behind one another, as rows of one batch; those that do not fit beside the first
  // are left out, of `places` too. Their numbers in the stream are others: see Numbers.
  Batch Sample(std::vector<std::int64_t>& places, at::Device device) const;
  std::vector<std::int64_t> Numbers(const std::vector<std::int64_t>& places) const;

 private:
  void SampleFurther();
  bool IsUnlike(const std::string& name, std::int64_t row, std::int64_t other) const;

  const LoadedTask* task_;
  RowRange from_;
  std::vector<RowContents> rows_;
  std::vector<std::int64_t> offsets_;  // of each row, from the first
  bool is_sampled_ = false;            // further ones, too
};

}  // namespace medley
