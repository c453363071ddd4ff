#include <medley/model/agent/patches.h>

#include <ATen/Functions.h>

namespace medley {

at::Tensor ToPatches(const at::Tensor& image, std::int64_t patch) {
  const std::int64_t rows = image.size(0), channels = image.size(1), grid = image.size(2) / patch;
  const at::Tensor cut = image.view({rows, channels, grid, patch, grid, patch}).permute({0, 2, 4, 1, 3, 5});
  return cut.clone(at::MemoryFormat::Contiguous).view({rows, grid * grid, channels * patch * patch});
}

at::Tensor EmbedPatches(const at::Tensor& image, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& positions, double mean, double scale) {
  // A product of cut patches is faster than a convolution of 3 channels. The scale is taken of the product,
  // which is smaller than the picture; the mean is not, which would leave the difference of two large
  // numbers.
  const at::Tensor patches = ToPatches(image, weight.size(2)).sub_(mean).to(weight.scalar_type());
  return at::add(positions + bias, at::linear(patches, weight.flatten(1)), scale);
}

at::Tensor FromPatches(const at::Tensor& patches, std::int64_t size, std::int64_t patch) {
  const std::int64_t rows = patches.size(0), channels = patches.size(2) / (patch * patch),
                     grid = size / patch;
  const at::Tensor cut = patches.view({rows, grid, grid, channels, patch, patch}).permute({0, 3, 1, 4, 2, 5});
  return cut.reshape({rows, channels, size, size});
}

}  // namespace medley
