#pragma once

#include <cstdint>

#include <medley/task/batch.h>

namespace medley {

// Bytes of all tensors of these rows.
std::int64_t BytesOf(const Batch& rows);

}  // namespace medley
