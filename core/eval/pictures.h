#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include <medley/report/picture.h>

namespace medley {

// The first pictures of bytes, or floats in [0, 1] (clamped), [rows, 3, height, width]; on any device.
std::vector<Picture> PicturesOf(const at::Tensor& images, std::int64_t at_most);
// Floats [1, 3, height, width] in [0, 1].
at::Tensor TensorOf(const Picture& picture);

}  // namespace medley
