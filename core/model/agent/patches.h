#pragma once

#include <ATen/core/Tensor.h>

namespace medley {

// A copy of an image cut into squares: [rows, channels, size, size] -> [rows, patches, channels * patch *
// patch], patches row by row, each as [channels, patch, patch].
at::Tensor ToPatches(const at::Tensor& image, std::int64_t patch);
// The vectors of an image's patches: (image - mean) * scale, convolved by squares with weight [d, channels,
// patch, patch] and bias [d], + positions [patches, d] -> [rows, patches, d].
at::Tensor EmbedPatches(const at::Tensor& image, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& positions, double mean, double scale);
// The way back from ToPatches: [rows, 3, size, size].
at::Tensor FromPatches(const at::Tensor& patches, std::int64_t size, std::int64_t patch);

}  // namespace medley
