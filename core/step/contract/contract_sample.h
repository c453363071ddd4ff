#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include <medley/plugin/loaded_task.h>

namespace medley {

// Of the same type and shape, too.
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

}  // namespace medley
