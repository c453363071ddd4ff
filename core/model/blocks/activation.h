#pragma once

#include <ATen/core/Tensor.h>

#include <medley/model/blocks/activation_kind.h>

namespace medley {

// Of each number; for the backward it keeps x alone.
at::Tensor Activate(const at::Tensor& x, Activation activation);

}  // namespace medley
