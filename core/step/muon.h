#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace medley {

// Muon (Jordan 2024, https://kellerjordan.github.io/posts/muon): a matrix moves along the mean of its
// gradients, looked ahead (Nesterov) and made nearly orthogonal: five Newton-Schulz steps bring its singular
// values near 1. Scaled so that a number moves as far as AdamW moves one (Liu et al. 2025, arXiv 2502.16982),
// so it takes AdamW's learning rate. Decoupled weight decay.
//
// Computes in the type of the masters, in three scratch matrices that are made once: an update allocates no
// tensor.
class Muon {
 public:
  struct Rates {
    double learning_rate = 0, weight_decay = 0;
    double momentum = 0;  // decay of the mean
  };
  // For matrices of up to so many numbers; `options`: of their masters.
  Muon(std::int64_t largest, const at::TensorOptions& options);

  // All of the same shape [rows, ...], which counts as [rows, the rest]. Updates weights and momentum.
  void Update(const at::Tensor& weights, const at::Tensor& gradient, const at::Tensor& momentum,
              const Rates& rates);

  // Bytes of the scratch matrices for matrices of up to so many numbers.
  static std::int64_t BytesFor(std::int64_t largest, at::ScalarType type);

 private:
  at::Tensor Orthogonal(std::int64_t rows, std::int64_t columns);

  at::Tensor x_, gram_, polynomial_;  // [largest]
  at::Tensor norm_, kept_;            // scalars: a number would be allocated at each use
};

}  // namespace medley
