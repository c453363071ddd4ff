#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>

namespace medley {

// A tensor whose values stand one after the other in a file, in the machine's byte order, from byte `offset`
// to the end of the file. It is mapped, as MapSafetensors does (weights/safetensors.h). InputError where the
// file has another number of bytes.
at::Tensor MapTensor(const std::filesystem::path& file, at::IntArrayRef shape, at::ScalarType type,
                     std::int64_t offset = 0);

}  // namespace medley
