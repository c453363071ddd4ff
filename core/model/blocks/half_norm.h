#pragma once

#include <ATen/core/Tensor.h>

#include <medley/model/blocks/half_operators.h>

namespace medley {

// The same as NormByOperators and NormBackwardByOperators, of contiguous bf16 on the CPU: in one pass over
// the lines, without tensors in float. A weight's gradient is summed in an order that does not depend on the
// number of threads.
NormedLines NormLines(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns, double epsilon);
NormGradients NormLinesBackward(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& scale, const RopeTables& turns);

}  // namespace medley
