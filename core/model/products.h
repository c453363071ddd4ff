#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace medley {

// Products of matrices, libtorch's but in fp16 on the CPU: there its own take thirty to a hundred times as
// long as in float, so they are made in float of the fp16 numbers, forward and backward, and rounded once.

// Whether that is so for x.
bool GoesWide(const at::Tensor& x);
// at::linear; `bias` may be undefined. On a GPU the gradient of a parameter is in float at least, and what it
// has had of it is added to by the product itself.
at::Tensor LinearProduct(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});
// Several of one x as one function, which adds up their gradients at x by the products too: of parameters of
// a GPU that are trained. Elsewhere nothing comes back.
struct LinearWeights {
  at::Tensor weight, bias;
};
std::vector<at::Tensor> LinearProducts(const at::Tensor& x, const std::vector<LinearWeights>& maps);
// at::matmul
at::Tensor MatrixProduct(const at::Tensor& a, const at::Tensor& b);
// y + scale * a * b in place, of matrices
void AddMatrixProduct(at::Tensor& y, const at::Tensor& a, const at::Tensor& b, double scale);
// at::mm_out, without a graph
void MatrixProductTo(at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

}  // namespace medley
