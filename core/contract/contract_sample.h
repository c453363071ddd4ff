#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include <medley/model/model.h>
#include <medley/plugin/loaded_task.h>

namespace medley {

// Whether two tensors are alike byte for byte, in type and shape, too.
bool SameBytes(const at::Tensor& one, const at::Tensor& other);

// "the column 'words'": the first thing in which two batches of as many rows are not the same byte for byte;
// "" where there is none. A ragged column without an item may be missing.
std::string FirstDifference(const Batch& one, const Batch& other);

// What Run wrote to of these rows, in words: a copy of before, and the rows afterwards; "" where they are the
// same.
std::string WrittenTo(const Batch& before, const Batch& after);

// Samples the rows together, each alone, and together again: a row is a function of seed and number, whenever
// and with whatever others it is asked for. Else an Error that says which of the two it was not. For few
// rows: all are held at once.
void CheckSampledAgain(const LoadedTask& task, const RowRange& few_rows);

// What makes rows long, by name ("items in the ragged column 'words'"): the most that a row has, and its
// number, and the least.
struct RowSize {
  std::int64_t most = 0;
  std::int64_t row = 0;
  std::int64_t least = 0;
};
using RowSizes = std::map<std::string, RowSize>;

// Bytes of columns, items of ragged columns and of terms, and what the columns say that are named as an input
// of the model with lengths ("lengths", "NAME.lengths"). Of rows on the host.
RowSizes SizesOfRows(const ModelSpec& model, const Batch& rows);
void Widen(RowSizes& sizes, const RowSizes& by);

// What the planner measures: the rows that a task gives where as long as possible are asked for. Their items
// are held against the spec.
class LongestRows {
 public:
  // Keeps the first two. Samples up to 8 of `rows`, as they are and as long as can be.
  LongestRows(const LoadedTask& task, const ModelSpec& model, const RowRange& rows);

  // An Error where the task pays no heed to what is asked: `plain`, the sizes of all these rows as they are,
  // are unlike, one row has less of everything than another, and each is the same, byte for byte, where it
  // was to be as long as can be.
  void RefuseIgnored(const RowSizes& plain);
  // An Error where a drawn row is longer. Where longest rows differ among themselves, the most of as many as
  // the planner looks at counts, which are sampled when the first few do not do. One more, or a sixteenth, is
  // no fault: the longest reply need not be that to the longest prompt.
  void Check(const RowSizes& drawn);

 private:
  std::string Exceeded(const RowSizes& drawn) const;
  bool IsSame(std::int64_t row) const;
  void SampleUpTo(std::int64_t count);

  const LoadedTask* task_;
  const ModelSpec* model_;
  RowRange rows_;
  RowSizes most_;
  std::int64_t sampled_ = 0;  // longest rows
  bool is_ignored_ = true;    // they were the same as the plain rows of these numbers
};

}  // namespace medley
