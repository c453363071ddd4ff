#pragma once

#include <cmath>
#include <cstdint>

#include <medley/kernels/both.h>
#include <medley/kernels/dynamic_code.h>
#include <medley/kernels/float_bits.h>

namespace medley::kernels {

// Numbers that share a scale.
inline constexpr std::int64_t kBlock = 256;

constexpr std::int64_t BlocksOf(std::int64_t numbers) { return (numbers + kBlock - 1) / kBlock; }

// AdamW's rates in one step of one tensor.
struct AdamWRates {
  float gradient_scale = 1;                 // clips
  float gain1 = 0, keep2 = 0, gain2 = 0;    // 1 - beta1, beta2, 1 - beta2
  float step = 0, root_scale = 1;           // learning rate / (1 - beta1^t), 1 / sqrt(1 - beta2^t)
  float keep_weight = 1, epsilon = 0;       // 1 - learning rate * weight decay
  std::uint32_t multiplier = 1, shift = 0;  // of this step's random bits, see RandomBits; the first is odd
};

MEDLEY_BOTH void UpdateOne(float& weight, float gradient, float& mean, float& square,
                           const AdamWRates& rates) {
  gradient *= rates.gradient_scale;
  mean += (gradient - mean) * rates.gain1;
  square = square * rates.keep2 + gradient * gradient * rates.gain2;
  weight =
      weight * rates.keep_weight - rates.step * mean / (std::sqrt(square) * rates.root_scale + rates.epsilon);
}

MEDLEY_BOTH float InverseScale(float scale) {
  return scale > 1e-37F ? 1 / scale : 0.0F;  // below it the inverse may be infinite
}

// Who shares the work on one block: on the CPU one lane. A CUDA kernel has a lane a thread, whose Max is over
// all of them; means and squares are then shared memory.
template <typename Lanes, Map kMap>
MEDLEY_BOTH void DecodeBlock(const std::uint8_t* codes, float scale, std::int64_t size, float* values) {
  MEDLEY_INDEPENDENT
  for (std::int64_t i = Lanes::First(); i < size; i += Lanes::Stride())
    values[i] = ValueOf<kMap>(codes[i]) * scale;
}

// A square above 0 never becomes 0: its mean may be as small and survive, and would be divided by epsilon
// alone where the next gradient is 0.
template <typename Lanes, Map kMap>
MEDLEY_BOTH void EncodeBlock(const float* values, float per_scale, std::int64_t size, std::uint8_t* codes) {
  MEDLEY_INDEPENDENT
  for (std::int64_t i = Lanes::First(); i < size; i += Lanes::Stride()) {
    const std::int32_t code = CodeOf<kMap>(values[i] * per_scale);
    const std::int32_t least = kMap == Map::kUnsigned && BitsOf(values[i]) > 0 ? 1 : 0;
    codes[i] = static_cast<std::uint8_t>(code < least ? least : code);
  }
}

struct OneLane {
  MEDLEY_BOTH static constexpr std::int64_t First() { return 0; }
  MEDLEY_BOTH static constexpr std::int64_t Stride() { return 1; }
  MEDLEY_BOTH static std::int32_t Max(std::int32_t own) { return own; }
};

// Codes and scales of two moments of up to kBlock numbers. A mean is its code's value times the scale, the
// block's largest magnitude.
struct EightBitBlock {
  float* weights;
  const float* gradients;
  std::uint8_t *means, *squares;
  float *mean_scale, *square_scale;
  std::int64_t size;
};

// `means`, `squares`: room for the block's.
template <typename Lanes>
MEDLEY_BOTH void UpdateBlock(const EightBitBlock& block, const AdamWRates& rates, float* means,
                             float* squares) {
  DecodeBlock<Lanes, Map::kSigned>(block.means, *block.mean_scale, block.size, means);
  DecodeBlock<Lanes, Map::kUnsigned>(block.squares, *block.square_scale, block.size, squares);
  std::int32_t mean_most = 0, square_most = 0;  // as bits: magnitudes have their order
  MEDLEY_INDEPENDENT
  for (std::int64_t i = Lanes::First(); i < block.size; i += Lanes::Stride()) {
    UpdateOne(block.weights[i], block.gradients[i], means[i], squares[i], rates);
    const std::int32_t mean = BitsOf(means[i]) & 0x7fffffff, square = BitsOf(squares[i]);
    mean_most = mean > mean_most ? mean : mean_most;
    square_most = square > square_most ? square : square_most;
  }
  const float mean_scale = FloatOf(Lanes::Max(mean_most)), square_scale = FloatOf(Lanes::Max(square_most));
  *block.mean_scale = mean_scale, *block.square_scale = square_scale;
  EncodeBlock<Lanes, Map::kSigned>(means, InverseScale(mean_scale), block.size, block.means);
  EncodeBlock<Lanes, Map::kUnsigned>(squares, InverseScale(square_scale), block.size, block.squares);
}

// 32 bits for the number of this place in its tensor, other ones in each step.
MEDLEY_BOTH std::uint32_t MixedPlace(std::uint32_t place) {
  place *= 0x9E3779B1U;
  place ^= place >> 15;
  place *= 0x85EBCA6BU;
  return place ^ (place >> 13);
}
MEDLEY_BOTH std::uint32_t RandomBits(std::uint32_t place, const AdamWRates& rates) {
  return MixedPlace(place) * rates.multiplier + rates.shift;
}

// To bfloat16, up or down with the odds that keep the mean; `random`: 16 bits. A mean of squares whose decay
// is below half of what bfloat16 tells apart (1/256) would stay for ever where it is, if rounded to nearest.
MEDLEY_BOTH std::uint16_t RoundedAtRandom(float value, std::uint32_t random) {
  return static_cast<std::uint16_t>((static_cast<std::uint32_t>(BitsOf(value)) + random) >> 16);
}
MEDLEY_BOTH float WidenedHalf(std::uint16_t half) {
  return FloatOf(static_cast<std::int32_t>(static_cast<std::uint32_t>(half) << 16));
}

// Both moments as the bits of bfloat16.
struct HalfBlock {
  float* weights;
  const float* gradients;
  std::uint16_t *means, *squares;
  std::uint32_t place;  // of the first number in its tensor
  std::int64_t size;
};

template <typename Lanes>
MEDLEY_BOTH void UpdateBlock(const HalfBlock& block, const AdamWRates& rates) {
  MEDLEY_INDEPENDENT
  for (std::int64_t i = Lanes::First(); i < block.size; i += Lanes::Stride()) {
    float mean = WidenedHalf(block.means[i]), square = WidenedHalf(block.squares[i]);
    UpdateOne(block.weights[i], block.gradients[i], mean, square, rates);
    const std::uint32_t random = RandomBits(block.place + static_cast<std::uint32_t>(i), rates);
    block.means[i] = RoundedAtRandom(mean, random & 0xffffU);
    block.squares[i] = RoundedAtRandom(square, random >> 16);
  }
}

}  // namespace medley::kernels
