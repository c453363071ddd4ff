#include <ATen/Functions.h>

#include <medley/model/kernels/ops.h>

namespace medley::composite {
namespace {

// Half types are summed in float.
at::Tensor Widen(const at::Tensor& x) {
  const bool wide = x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
  return wide ? x : x.to(at::kFloat);
}

}  // namespace

at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const at::Tensor wide = Widen(x);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + epsilon);
  return (wide * scale).to(x.scalar_type()) * weight;
}

at::Tensor HeadNormRope(const at::Tensor& x, const at::Tensor& weight, const RopeTables& tables,
                        std::int64_t begin, double epsilon) {
  const std::int64_t dim = weight.size(0), length = x.size(1);
  const at::Tensor heads = x.view({x.size(0), length, -1, dim}).transpose(1, 2);
  const at::Tensor normed = composite::RmsNorm(heads, weight, epsilon);
  const at::Tensor cos = tables.cos.narrow(0, begin, length), sin = tables.sin.narrow(0, begin, length);
  const at::Tensor a = normed.narrow(-1, 0, dim / 2), b = normed.narrow(-1, dim / 2, dim / 2);
  return at::cat({a * cos - b * sin, b * cos + a * sin}, -1).to(x.scalar_type());
}

at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; }

at::Tensor ToPatches(const at::Tensor& image, std::int64_t patch, double scale, double shift) {
  const std::int64_t rows = image.size(0), channels = image.size(1), grid = image.size(2) / patch;
  const at::Tensor cut = image.view({rows, channels, grid, patch, grid, patch}).permute({0, 2, 4, 1, 3, 5});
  return cut.reshape({rows, grid * grid, channels * patch * patch}) * scale + shift;
}

at::Tensor FromPatches(const at::Tensor& patches, std::int64_t size, std::int64_t patch, double scale,
                       double shift) {
  const std::int64_t rows = patches.size(0), channels = patches.size(2) / (patch * patch),
                     grid = size / patch;
  const at::Tensor cut = patches.view({rows, grid, grid, channels, patch, patch}).permute({0, 3, 1, 4, 2, 5});
  return cut.reshape({rows, channels, size, size}) * scale + shift;
}

}  // namespace medley::composite
