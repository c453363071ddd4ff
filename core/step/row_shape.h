#pragma once

#include <cstdint>
#include <vector>

#include <medley/task/batch.h>

namespace medley {

// How many items a row has, ragged column by ragged column and term by term.
using RowShape = std::vector<std::int64_t>;
RowShape ShapeOfRow(const Batch& batch, std::int64_t row);

}  // namespace medley
