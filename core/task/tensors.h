#pragma once

// Operators of tensors (`pixels * 255`, `a == b`) and the functions that make and join them, for a task that
// likes them better than the methods, which task.h brings: `pixels.mul(255)`. A file takes 3 s longer to
// compile with them (1.6 s become 4.7), and 4.5 s with the operators' own header, which brings all of
// libtorch.
#ifndef AT_PER_OPERATOR_HEADERS
#define AT_PER_OPERATOR_HEADERS
#include <ATen/TensorOperators.h>
#undef AT_PER_OPERATOR_HEADERS
#else
#include <ATen/TensorOperators.h>
#endif
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <medley/base/random.h>

namespace medley {

// Numbers from low to high, float on the CPU, drawn one after the other from a row's own numbers
// (Row::random). at::rand and the like draw from libtorch's generator, which a task must not.
at::Tensor RandomNumbers(RowRandom& random, at::IntArrayRef shape, double low = 0, double high = 1);

}  // namespace medley
