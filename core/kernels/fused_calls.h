#pragma once

#include <cstdint>

#include <medley/kernels/both.h>

namespace medley::kernels {

// What the fused kernels of medley_kernels.so are given. Numbers of a half type are widened as they are read
// and rounded once as they are written; all between, statistics and sums are float. Sums are taken in an
// order that depends on the sizes and the card alone. Pointers are those of the device; strides count
// numbers. A kernel reads 16 bytes at a time where pointers are aligned to 16 bytes and strides and widths
// are multiples (norm: the half of a line): else one number. An output may be where an input of the same type
// and strides is; else nothing overlaps.
enum class Number : std::int32_t { kFloat, kBf16, kFp16 };

// Where the lines of a [rows, positions, heads, dim] lie, numbers of a line side by side. 0: one for all.
struct LineStrides {
  std::int64_t row, position, head;
};
struct LineShape {
  std::int64_t rows, positions, heads, dim;  // fewer than 2^31 lines, and than 2^30 numbers each

  MEDLEY_BOTH constexpr std::int64_t Lines() const { return rows * positions * heads; }
};

// RoPE's turns as RopeTurns (model/blocks/operators.h) makes them: the sines carry the sign. Null: not
// turned; else `dim` is even.
struct Turns {
  const float *cos, *sin;
  LineStrides strides;  // of both
};

// RMS norm, turned behind it: NormByOperators (model/blocks/half_operators.h).
struct NormCall {
  Number type, weight_type;  // of x and y; of the weight
  LineShape shape;
  const void* x;
  LineStrides x_strides;
  const void* weight;  // [dim]; null: no norm, turns alone
  float epsilon;
  Turns turns;
  void* y;
  LineStrides y_strides;
  float* scale = nullptr;  // [rows, positions, heads]: 1 / root mean square; null: not wanted, or no norm
};

// Its backward; NormBackwardByOperators.
struct NormBackwardCall {
  Number type, weight_type;
  LineShape shape;
  const void* gradient;  // of y, in the type of x
  LineStrides gradient_strides;
  const void* x;  // x, weight, scale: null where there is no norm
  LineStrides x_strides;
  const void* weight;
  const float* scale;  // [rows, positions, heads]
  Turns turns;
  void* x_gradient;
  LineStrides x_gradient_strides;
  float* weight_gradient = nullptr;  // [dim]; null: not wanted. With it:
  bool adds = false;                 // to it; else it is written
  float* partials = nullptr;         // [NormPartials(shape)], whatever is in it
  std::uint32_t* counters =
      nullptr;  // [kNormCounters], 0 before the first call and again behind each; of one stream
};
inline constexpr std::int64_t kNormParts = 640, kNormGroup = 16, kNormCounters = kNormParts / kNormGroup + 1;
constexpr std::int64_t NormPartials(const LineShape& shape) {
  const std::int64_t lines = shape.Lines(), parts = lines < 1 ? 1 : lines < kNormParts ? lines : kNormParts;
  return (parts + (parts + kNormGroup - 1) / kNormGroup) * shape.dim;
}

// y = silu(gate) * up, of [rows, width] each, with so many numbers from row to row.
struct GatedCall {
  Number type;
  std::int64_t rows, width;
  const void *gate, *up;
  std::int64_t gate_stride, up_stride;
  void* y;
  std::int64_t y_stride;
};
struct GatedBackwardCall {
  Number type;
  std::int64_t rows, width;
  const void *gradient, *gate, *up;
  std::int64_t gradient_stride, gate_stride, up_stride;
  void *gate_gradient, *up_gradient;
  std::int64_t gate_gradient_stride, up_gradient_stride;
};

// Logits [items, words] of the words from `first` on of a vocabulary, and what each item is to be:
// LossTargets (model/blocks/item_losses.h).
struct LogitsPiece {
  Number type;
  std::int64_t items, words, stride;  // fewer than 2^31 items and words
  std::int64_t first, vocabulary;
  const std::int64_t* targets;  // [items], of the vocabulary
  const float* smoothing;       // [items]; null: none
};

// Cross-entropies, piece after piece: PieceByPiece::See and MadeOf (item_losses.cc). All words at once: one
// piece that is first and last.
struct LossesCall {
  LogitsPiece piece;
  void* logits;  // only read, but where they become shares
  bool is_first, is_last;
  // What was seen, [items] each, written and, but for the first piece, read. May be null where a piece is
  // first and last.
  float *highest = nullptr,
        *others = nullptr;  // `others`: the sum of exp(logit - highest), of all but the target's
  float *target = nullptr,
        *all = nullptr;  // the target's logit, 0 before it is seen; the sum of logits, with smoothing
  // The logits become exp(logit - highest), the target's 0; [items] the factor by which what was made of
  // earlier pieces grows smaller. Null: they stay.
  float* smaller = nullptr;
  // Of the last piece, [items] each. Null: not wanted.
  float *losses = nullptr, *log_sums = nullptr;
  float* sums = nullptr;       // of exp(logit - highest), the target's too
  float* at_target = nullptr;  // the gradient of the loss at the target's logit: smoothing - others / sums
};

// out = gradient * (exp(logit - log_sum) - smoothing / vocabulary - (1 - smoothing) * [1 at the target])
struct LossesBackwardCall {
  LogitsPiece piece;
  const void* logits;
  const float* log_sums;            // [items]
  const float* gradient = nullptr;  // [items], of the losses; null: 1
  void* out;                        // [items, words], the logits' type; may be the logits
  std::int64_t out_stride;
};

// AdamW of libtorch's fused kernel, of many tensors. What changes from step to step is on the device, so that
// a graph can hold the call.
struct AdamWTensor {
  float* weights;
  const float* gradients;
  float *means, *squares;
  void* half;            // the weights once more, rounded; null: there is no such
  const float* updates;  // a scalar: how many there were with this one; the caller counts
  std::int64_t numbers;  // [numbers] each
};
struct AdamWCall {
  const AdamWTensor* tensors;  // on the host, and no longer needed behind the call
  std::int64_t count;
  Number half_type;
  const float* learning_rate;   // a scalar
  const float* gradient_scale;  // a scalar that gradients are multiplied with (clip, loss scale); null: 1
  const float* skip;  // a scalar; not 0: nothing is written. Null: 0. So far null: for a step without a wait
  double beta1, beta2, epsilon, weight_decay;
};

}  // namespace medley::kernels
