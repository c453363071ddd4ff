#include <medley/task/losses.h>

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/nll_loss_nd.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <medley/base/error.h>

namespace medley {
namespace {

at::Tensor AtLeastFloat(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? tensor : tensor.to(at::kFloat);
}

// What the plain mean gives each of a row's 3 * size * size values.
double EvenWeight(const at::Tensor& target) {
  return 1.0 / static_cast<double>(target.size(1) * target.size(2) * target.size(3));
}

// Keeps an empty region from 0/0.
constexpr double kLeastWeight = 1e-6;

// What each pixel counts for, [rows, 1, size, size]; the weights of a row's values add up to 1.
at::Tensor PixelWeights(const at::Tensor& target, const at::Tensor& region, double share,
                        at::ScalarType dtype) {
  const at::Tensor inside = region.to(dtype);
  const at::Tensor pixels = inside.sum({2, 3}, /*keepdim=*/true);
  const double all = EvenWeight(target);
  const at::Tensor in_region =
      inside.mul(share / static_cast<double>(target.size(1))).div_(pixels.clamp_min(kLeastWeight));
  return at::where(pixels.gt(0), in_region.add_((1 - share) * all), all).to(dtype);
}

}  // namespace

at::Tensor SumCrossEntropy(const at::Tensor& logits, const at::Tensor& targets, double smoothing) {
  constexpr std::int64_t kNoTargetIsIgnored = -100;
  return at::cross_entropy_loss(AtLeastFloat(logits), targets, {}, at::Reduction::Sum, kNoTargetIsIgnored,
                                smoothing);
}

at::Tensor SumLosses(const at::Tensor& losses) {
  // Of a single class with the losses as logarithms of its share, whatever the loss is.
  return at::nll_loss_nd(losses.neg().unsqueeze(1),
                         at::zeros(losses.sizes(), losses.options().dtype(at::kLong)), {},
                         at::Reduction::Sum);
}

at::Tensor NumberErrors(const at::Tensor& output, const at::Tensor& target, NumberError error) {
  if (output.dim() == 0 || output.sizes() != target.sizes())
    throw Error("the output has the shape " + c10::str(output.sizes()) + ", its targets " +
                c10::str(target.sizes()) + "; expected the same, rows first");
  const at::Tensor numbers = AtLeastFloat(output), aims = target.to(numbers.scalar_type());
  const auto of_each = [&] {
    if (error == NumberError::kSquared) return at::mse_loss(numbers, aims, at::Reduction::None);
    if (error == NumberError::kAbsolute) return at::l1_loss(numbers, aims, at::Reduction::None);
    return at::huber_loss(numbers, aims, at::Reduction::None, /*delta=*/1);
  };
  return of_each().reshape({output.size(0), -1}).mean(1);
}

at::Tensor RegionErrors(const at::Tensor& output, const at::Tensor& target, const at::Tensor& region,
                        double region_share) {
  const at::Tensor picture = AtLeastFloat(output);
  // Keeps the two pictures for the backward, not their difference.
  const at::Tensor squares = at::mse_loss(picture, target.to(picture.scalar_type()), at::Reduction::None);
  const at::Tensor weighted =
      region_share == 0 ? squares.mul(EvenWeight(target))
                        : squares.mul(PixelWeights(target, region, region_share, picture.scalar_type()));
  return weighted.sum({1, 2, 3});
}

at::Tensor DifferentPixels(const at::Tensor& a, const at::Tensor& b) {
  return a.ne(b).any(1, /*keepdim=*/true);
}

at::Tensor PictureErrors(const at::Tensor& output, const at::Tensor& target, const at::Tensor& input,
                         double region_share) {
  return RegionErrors(output, target, region_share == 0 ? at::Tensor() : DifferentPixels(target, input),
                      region_share);
}

at::Tensor SumPictureError(const at::Tensor& output, const at::Tensor& target, const at::Tensor& input,
                           double region_share) {
  if (region_share == 0) {  // nothing is kept for each pixel
    const at::Tensor picture = AtLeastFloat(output);
    return at::mse_loss(picture, target.to(picture.scalar_type()), at::Reduction::Sum)
        .mul(EvenWeight(target));
  }
  return PictureErrors(output, target, input, region_share).sum();
}

}  // namespace medley
