#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <medley/config/field.h>
#include <medley/model/blocks/item_losses.h>
#include <medley/model/blocks/operators.h>

namespace medley {

// The operators of operators.h and the losses of item_losses.h on a GPU, each by one kernel of
// medley_kernels.so forward and one backward. They compute in float and round once at their end; for the
// backward they keep what they were given. Gradients of weights come in float.

enum class FusedKernel { kNorm, kGated, kLosses, kAdamW };
template <>
struct EnumNames<FusedKernel> {
  static constexpr std::array<std::string_view, 4> kNames = {"norm", "gated", "losses", "adamw"};
};
inline constexpr int kFusedKernels = EnumNames<FusedKernel>::kNames.size();

// Which of them the process uses on which device: none before it is said. See CheckKernels.
struct FusedKernels {
  c10::Device device = c10::kCPU;
  bool used[kFusedKernels] = {};
};
void UseKernels(const FusedKernels& kernels);
const FusedKernels& KernelsInUse();
bool IsFused(FusedKernel kernel, const at::Tensor& x);

// x [..., d]; turns [positions, 1 or heads, d] or with rows before it, or undefined; weight [d], or
// undefined: x [rows, positions, heads, d] is turned alone.
at::Tensor FusedNormRope(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                         double epsilon);
at::Tensor FusedSwiGlu(const at::Tensor& gate, const at::Tensor& up);
// LossesOfLogits, of logits in any type.
at::Tensor FusedLosses(const at::Tensor& logits, const LossTargets& targets);

// Cross-entropies by pieces of the words, in place; see kernels::LossesCall. Tensors of items are float.
struct FusedSeen {
  at::Tensor highest{}, others{}, target{}, all{};
};
// What was seen grows by a piece [items, words] that begins at this word. Where `smaller` is defined, the
// piece becomes exp(logit - highest), its targets 0, and `smaller` the factor of what was made before it.
void SeePiece(const at::Tensor& piece, std::int64_t first, std::int64_t vocabulary,
              const LossTargets& targets, const FusedSeen& seen, const at::Tensor& smaller);
// The piece becomes the gradient of the losses' sum at its logits, each item's times `gradient` where that is
// defined.
void TurnToGradient(const at::Tensor& piece, std::int64_t first, std::int64_t vocabulary,
                    const LossTargets& targets, const at::Tensor& log_sums, const at::Tensor& gradient);

// AdamW as libtorch's fused kernel has it, of float, in one launch of many tensors; `halves`: the weights
// once more, rounded, or undefined. The caller counts: `counts` are scalars, with this update. On a GPU
// alone.
struct AdamWLists {
  std::vector<at::Tensor> weights{}, gradients{}, means{}, squares{}, halves{}, counts{};
};
struct AdamWFactors {
  at::Tensor learning_rate{}, gradient_scale{};  // float scalars there; the second may be undefined: 1
  double beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
};
void FusedAdamW(const AdamWLists& lists, const AdamWFactors& factors);

}  // namespace medley
