#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace medley {

// Random bits as a function of a key and coordinates, the same on every device.

// The key of each index of a leading dimension: CombineSeeds(seed, begin + i), [rows] int64. A GPU makes them
// itself: a copy would wait for it.
at::Tensor RowKeys(std::uint64_t seed, std::int64_t begin, std::int64_t rows, at::Device device = at::kCPU);
// CombineSeeds(keys, numbers), element by element; int64, broadcast.
at::Tensor CombineKeys(const at::Tensor& keys, const at::Tensor& numbers);
// Says of each index with its row [n] int64, ascending, how many of the same row stand before it.
at::Tensor ItemsInRows(const at::Tensor& row);

// bool of the sizes [n, ...], on the device of keys [n]; each is true with probability `kept`.
at::Tensor RandomMask(const at::Tensor& keys, at::IntArrayRef sizes, double kept);
// The same of libtorch's operators alone, which is how it is made where there is no loop of our own.
at::Tensor RandomMaskByOperators(const at::Tensor& keys, at::IntArrayRef sizes, double kept);
// Bytes that it takes at most, for lines of so many numbers; the mask is not counted.
std::int64_t RandomMaskWorkspace(std::int64_t lines, std::int64_t width);

}  // namespace medley
