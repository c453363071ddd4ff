#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace medley::fake_cuda {

// The host's view of the same memory. Another one where an operator makes its result larger.
at::Tensor OnHost(const at::Tensor& tensor);

// Attention as one operator with one backward, which a GPU's kernels are: the CPU's own.
at::Tensor Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const std::optional<at::Tensor>& mask, double dropout, bool causal,
                  std::optional<double> scale, bool grouped);

}  // namespace medley::fake_cuda
