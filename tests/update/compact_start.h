#pragma once

#include <ATen/ops/zeros.h>
#include <medley/update/compact_update.h>

namespace medley::test {

// Without gradients and rates so far; moments of zeros.
inline CompactUpdate StartOf(MomentsKind kind, const at::Tensor& weights) {
  const at::TensorOptions options = weights.options(), scales = options.dtype(at::kFloat);
  const at::ScalarType type = kind == MomentsKind::kBf16 ? at::kBFloat16 : at::kByte;
  CompactUpdate update{.kind = kind, .weights = weights};
  for (at::Tensor* moment : {&update.means, &update.squares})
    *moment = at::zeros(weights.sizes(), options.dtype(type));
  for (at::Tensor* scale : {&update.mean_scales, &update.square_scales}) {
    if (kind == MomentsKind::k8Bit) *scale = at::zeros({kernels::BlocksOf(weights.numel())}, scales);
  }
  return update;
}

}  // namespace medley::test
