#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace medley::fake_cuda {

// The host's view of the same memory. Another one where an operator makes its result larger.
at::Tensor OnHost(const at::Tensor& tensor);

// Attention as one operator with one backward, which a GPU's kernels are: the CPU's own.
at::Tensor Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const std::optional<at::Tensor>& mask, double dropout, bool causal,
                  std::optional<double> scale, bool grouped);

// As an A100 chooses, and the two kernels of a causal text.
std::int64_t Choose(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const std::optional<at::Tensor>& mask, double dropout, bool causal,
                    std::optional<double> scale, bool grouped);
using FlashResults = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt,
                                at::Tensor, at::Tensor, at::Tensor>;
FlashResults Flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double dropout, bool causal,
                   bool debug, std::optional<double> scale);
using EfficientResults = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt>;
EfficientResults Efficient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& queries,
                           const std::optional<at::Tensor>& keys, std::optional<c10::SymInt> most_queries,
                           std::optional<c10::SymInt> most_keys, double dropout, std::int64_t kind, bool sums,
                           std::optional<double> scale, const std::optional<at::Tensor>& lengths,
                           std::optional<std::int64_t> window);

}  // namespace medley::fake_cuda
