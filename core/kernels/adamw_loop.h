#pragma once

#include <cstdint>

#include <medley/kernels/adamw_block.h>

namespace medley::kernels {

// The CPU's loops over blocks, each compiled for several sets of instructions. All of them give the same
// bits: each operation is rounded by itself.
enum class Instructions { kBase, kAvx2, kAvx512 };
// The widest that this machine has.
Instructions WidestInstructions();

// The two moments of one tensor, from its first number on; and its weights and gradients. The arrays do not
// overlap.
struct EightBitTensor {
  float* weights;
  const float* gradients;
  std::uint8_t *means, *squares;       // [numbers]
  float *mean_scales, *square_scales;  // [blocks]
  std::int64_t numbers;
};
struct HalfTensor {
  float* weights;
  const float* gradients;
  std::uint16_t *means, *squares;  // [numbers], bfloat16
  std::int64_t numbers;
  std::int64_t place = 0;  // of the first, where they are a part of a tensor
};
// One of their blocks, which has so many numbers.
MEDLEY_BOTH EightBitBlock BlockOf(const EightBitTensor& tensor, std::int64_t block, std::int64_t size) {
  const std::int64_t first = block * kBlock;
  return {tensor.weights + first,
          tensor.gradients + first,
          tensor.means + first,
          tensor.squares + first,
          tensor.mean_scales + block,
          tensor.square_scales + block,
          size};
}
MEDLEY_BOTH HalfBlock BlockOf(const HalfTensor& tensor, std::int64_t block, std::int64_t size) {
  const std::int64_t first = block * kBlock;
  return {tensor.weights + first,
          tensor.gradients + first,
          tensor.means + first,
          tensor.squares + first,
          static_cast<std::uint32_t>(tensor.place + first),
          size};
}

// Of the blocks [begin, end). Allocates nothing.
void UpdateBlocks(const EightBitTensor& tensor, const AdamWRates& rates, std::int64_t begin, std::int64_t end,
                  Instructions instructions = WidestInstructions());
void UpdateBlocks(const HalfTensor& tensor, const AdamWRates& rates, std::int64_t begin, std::int64_t end,
                  Instructions instructions = WidestInstructions());

// All of a tensor, between float and codes with scales: where a run goes on with other moments.
void Encode(Map map, const float* values, std::int64_t numbers, std::uint8_t* codes, float* scales);
void Decode(Map map, const std::uint8_t* codes, const float* scales, std::int64_t numbers, float* values);

}  // namespace medley::kernels
