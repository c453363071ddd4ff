#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/model/model.h>

namespace medley::check {

// The gradients of all parameters in their order; zeros where one has none.
using Gradient = std::vector<at::Tensor>;

// Takes the gradients out of the model.
Gradient TakeGradient(const Model& model);
double NormOf(const Gradient& gradient);  // of the whole
// The norm of the difference over the norm of `expected`, of the whole gradient; 0 where both are 0.
double Distance(const Gradient& got, const Gradient& expected);
bool SameBits(const Gradient& got, const Gradient& expected);

}  // namespace medley::check
