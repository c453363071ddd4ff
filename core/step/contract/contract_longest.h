#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <medley/model/model.h>
#include <medley/plugin/loaded_task.h>

namespace medley {

// What makes rows long, by name ("items in the ragged column 'words'"): the most that a row has, and its
// number.
struct RowSize {
  std::int64_t most = 0;
  std::int64_t row = 0;
};
using RowSizes = std::map<std::string, RowSize>;

// Bytes of columns, items of ragged columns and of terms, and what the columns say that are named as an input
// of the model with lengths ("lengths", "NAME.lengths"). Of rows on the host.
RowSizes SizesOfRows(const ModelSpec& model, const Batch& rows);
void Widen(RowSizes& sizes, const RowSizes& by);

// What the planner measures: the rows that a task gives where as long as possible are asked for.
class LongestRows {
 public:
  // Keeps the first two. Samples up to 8 of `rows`, as they are and as long as can be.
  LongestRows(const LoadedTask& task, const ModelSpec& model, const RowRange& rows);

  // An Error where a drawn row is longer. Where longest rows differ among themselves, the most of as many as
  // the planner looks at counts, which are sampled when the first few do not do. One more, or a sixteenth, is
  // no fault: the longest reply need not be that to the longest prompt.
  void Check(const RowSizes& drawn);

 private:
  std::string Exceeded(const RowSizes& drawn) const;
  void SampleUpTo(std::int64_t count);

  const LoadedTask* task_;
  const ModelSpec* model_;
  RowRange rows_;
  RowSizes most_;
  std::int64_t sampled_ = 0;  // longest rows
  bool is_ignored_ = true;    // they were the same as the plain rows of these numbers
};

}  // namespace medley
