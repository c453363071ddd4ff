#pragma once

#include <ATen/core/Tensor.h>

#include <medley/model/blocks/language_config.h>

namespace medley {

// Chains of libtorch operators that parts of models share. Statistics are in float at least; of half types
// everything in between too, see half_operators.h.

// x / sqrt(mean(x^2, last dim) + epsilon) * weight. x [..., d], weight [d].
at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

// Cosines and sines [positions, d / 2] of position * base^(-2i / d), scaled. At least in float also for half
// types, in which positions would run together.
struct RopeTables {
  at::Tensor cos, sin;
  RopeTables Of(std::int64_t begin, std::int64_t end) const {
    return {cos.slice(0, begin, end), sin.slice(0, begin, end)};
  }
};
RopeTables MakeRopeTables(std::int64_t positions, std::int64_t head_dim, double base,
                          const at::TensorOptions& options, const RopeScaling& scaling = {});

// Whether RopeTurns are repeated for each head on the CPU: over lines so short an element-wise kernel would
// be slow.
constexpr bool RepeatsTurns(std::int64_t head_dim) { return head_dim < 64; }
// What HeadNormRope takes of so many heads: `lines` [n, d / 2] of the tables -> [n, 1 or heads, d], cosines
// twice, and sines with those of the first half negated.
RopeTables RopeTurns(const RopeTables& lines, std::int64_t heads);

// RoPE of the rotate-half kind (dims i and i + d/2 turn together). x [rows, length, heads * d], turns
// [length, 1 or heads, d], or with rows before -> [rows, heads, length, d].
at::Tensor HeadRope(const at::Tensor& x, const RopeTables& turns);
// The same behind an RmsNorm over each head.
at::Tensor HeadNormRope(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                        double epsilon);

// How many ids a lookup must have so that libtorch 2.11 sums the gradient of the table right on a GPU: of
// 1,025 to 4,096 ids a kernel does it that loses some sums now and then (pytorch#187687, #199569), beyond
// them another.
std::int64_t PaddedIds(std::int64_t ids);
inline constexpr std::int64_t kMostPaddedIds = 4097 - 1025;  // that it adds
// The ids as a line, with as many of word 0 behind them.
at::Tensor PaddedLine(const at::Tensor& ids);
// table [words, d], ids [...] int64 -> [..., d], looked up with so many more ids that PaddedIds is met; what
// they add to the gradient is 0.
at::Tensor PaddedEmbedding(const at::Tensor& table, const at::Tensor& ids);
// The same, padded where it must be.
at::Tensor Lookup(const at::Tensor& table, const at::Tensor& ids);

// silu(gate) * up
at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace medley
