#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include <medley/base/mapped_file.h>

namespace medley {

// The values in a mapped file from byte `offset` on; the file stays mapped as long as the tensor lives.
// Copied where they do not lie as the type needs it.
at::Tensor MappedTensor(std::shared_ptr<const MappedFile> file, std::int64_t offset, at::IntArrayRef shape,
                        at::ScalarType type);

}  // namespace medley
