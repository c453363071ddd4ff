#include <medley/model/blocks/operators.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <numbers>
#include <vector>

#include <medley/model/blocks/fused.h>
#include <medley/model/blocks/half_operators.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

bool IsHalf(const at::Tensor& x) { return medley::IsHalf(x.scalar_type()); }

// x [rows, length, heads, d]
at::Tensor Turned(const at::Tensor& x, const RopeTables& turns) {
  return at::addcmul(x * turns.cos, x.roll(x.size(-1) / 2, -1), turns.sin);
}

// Of angles a position, as the published code has it.
at::Tensor Scaled(const at::Tensor& frequency, const RopeScaling& scaling) {
  if (scaling.factor == 1) return frequency;
  const auto original = static_cast<double>(scaling.original_positions);
  // Turns that a text of the original length makes.
  const at::Tensor turns = frequency * (original / (2 * std::numbers::pi));
  const at::Tensor kept =
      ((turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)).clamp(0, 1);
  return frequency * (kept + (1 - kept) / scaling.factor);
}

}  // namespace

at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  if (IsFused(FusedKernel::kNorm, x)) return FusedNormRope(x, weight, {}, epsilon);
  if (IsHalf(x)) return HalfRmsNorm(x, weight, epsilon);
  const at::Tensor scale = at::rsqrt(x.square().mean(-1, /*keepdim=*/true) + epsilon);
  return x * scale * weight;
}

RopeTables MakeRopeTables(std::int64_t positions, std::int64_t head_dim, double base,
                          const at::TensorOptions& options, const RopeScaling& scaling) {
  const auto wide = options.dtype(at::kDouble);
  const at::Tensor frequency =
      at::pow(base, at::arange(0, head_dim, 2, wide) * (-1.0 / static_cast<double>(head_dim)));
  const at::Tensor angle = at::arange(positions, wide).unsqueeze(1) * Scaled(frequency, scaling);
  return {at::cos(angle).to(options), at::sin(angle).to(options)};
}

RopeTables RopeTurns(const RopeTables& lines, std::int64_t heads) {
  const std::int64_t repeats = RepeatsTurns(2 * lines.cos.size(1)) && !lines.cos.is_cuda() ? heads : 1;
  const auto of_heads = [&](const at::Tensor& first, const at::Tensor& second) {
    return at::cat({first, second}, 1).unsqueeze(1).repeat({1, repeats, 1});
  };
  return {of_heads(lines.cos, lines.cos), of_heads(-lines.sin, lines.sin)};
}

at::Tensor HeadRope(const at::Tensor& x, const RopeTables& turns) {
  const at::Tensor heads = x.view({x.size(0), x.size(1), -1, turns.cos.size(-1)});
  if (IsFused(FusedKernel::kNorm, x)) return FusedNormRope(heads, {}, turns, 0).transpose(1, 2);
  return Turned(heads, turns).to(x.scalar_type()).transpose(1, 2);
}

at::Tensor HeadNormRope(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                        double epsilon) {
  const std::int64_t dim = weight.size(0);
  const at::Tensor heads = x.view({x.size(0), x.size(1), -1, dim});
  if (IsFused(FusedKernel::kNorm, x)) return FusedNormRope(heads, weight, turns, epsilon).transpose(1, 2);
  if (IsHalf(x)) return HalfNormRope(heads, weight, turns, epsilon).transpose(1, 2);
  return Turned(RmsNorm(heads, weight, epsilon), turns).transpose(1, 2);
}

std::int64_t PaddedIds(std::int64_t ids) {
  constexpr std::int64_t kFirstWrong = 1025, kLastWrong = 4096;  // 3,072 but on sm_90
  return ids >= kFirstWrong && ids <= kLastWrong ? kLastWrong + 1 : ids;
}

at::Tensor PaddedLine(const at::Tensor& ids) {
  const std::int64_t more = PaddedIds(ids.numel()) - ids.numel();
  return more == 0 ? ids.flatten() : at::cat({ids.flatten(), at::zeros({more}, ids.options())});
}

at::Tensor PaddedEmbedding(const at::Tensor& table, const at::Tensor& ids) {
  if (PaddedIds(ids.numel()) == ids.numel()) return at::embedding(table, ids);
  std::vector<std::int64_t> shape = ids.sizes().vec();
  shape.push_back(table.size(1));
  return at::embedding(table, PaddedLine(ids)).narrow(0, 0, ids.numel()).view(shape);
}

at::Tensor Lookup(const at::Tensor& table, const at::Tensor& ids) {
  const bool has_gradient = table.requires_grad() && at::GradMode::is_enabled();
  if (has_gradient && IsHalf(table)) return HalfEmbedding(table, ids);
  return has_gradient && table.is_cuda() ? PaddedEmbedding(table, ids) : at::embedding(table, ids);
}

at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up) {
  if (IsFused(FusedKernel::kGated, gate)) return FusedSwiGlu(gate, up);
  return IsHalf(gate) ? HalfSwiGlu(gate, up) : at::silu(gate) * up;
}

}  // namespace medley
