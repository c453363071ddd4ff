#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include <medley/model/blocks/operators.h>

namespace medley {

// The operators of operators.h for half types. Each computes in float and rounds once at its end; for the
// backward it keeps what it was given, never a copy in float. Gradients of weights and tables come in float.

at::Tensor HalfRmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon);
// x [rows, length, heads, d]; turns in float -> the same shape
at::Tensor HalfNormRope(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                        double epsilon);
at::Tensor HalfSwiGlu(const at::Tensor& gate, const at::Tensor& up);
// The lookup, whose gradient libtorch would sum in the table's own type: of a word that comes a hundred times
// most would be lost. On a GPU it is summed of PaddedIds.
at::Tensor HalfEmbedding(const at::Tensor& table, const at::Tensor& ids);

// Fused attention on the CPU, of heads so short that libtorch's backward takes five to ten times as long in a
// half type as in float: goes back in float, row by row; fp16 forward too (products.h). Shapes as in Attend,
// masks as the kernel takes them.
constexpr bool HasShortHeads(std::int64_t head_dim) { return head_dim < 64; }
at::Tensor HalfAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::optional<at::Tensor>& mask);
// What its backward has in float at a time: numbers of one row.
constexpr std::int64_t HalfAttentionFloats(std::int64_t queries, std::int64_t seen, std::int64_t width,
                                           std::int64_t kv_width) {
  return 4 * (queries * width + seen * kv_width) + queries * seen;
}

// The norm's values and gradients, with turns or without (undefined): on the CPU bf16 goes line by line
// through one loop. These are what it gives, for all other devices and types.
struct NormedLines {
  at::Tensor y, scale;  // x's shape; float [..., 1], 1 / root mean square
};
NormedLines NormByOperators(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                            double epsilon);
struct NormGradients {
  at::Tensor x, weight;
};
NormGradients NormBackwardByOperators(const at::Tensor& gradient, const at::Tensor& x,
                                      const at::Tensor& weight, const at::Tensor& scale,
                                      const RopeTables& turns);

}  // namespace medley
