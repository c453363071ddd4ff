#include <medley/kernels/adamw_loop.h>

#include <algorithm>
#include <cmath>

// AVX-512 in whole registers: GCC takes half ones otherwise.
#if defined(__x86_64__)
#define MEDLEY_AVX2 __attribute__((target("avx2")))
#ifdef __clang__
#define MEDLEY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define MEDLEY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#endif

namespace medley::kernels {
namespace {

MEDLEY_BOTH void UpdateAt(const EightBitTensor& tensor, const AdamWRates& rates, std::int64_t block,
                          std::int64_t size) {
  alignas(64) float means[kBlock], squares[kBlock];
  const std::int64_t first = block * kBlock;
  UpdateBlock<OneLane>(
      EightBitBlock{tensor.weights + first, tensor.gradients + first, tensor.means + first,
                    tensor.squares + first, tensor.mean_scales + block, tensor.square_scales + block, size},
      rates, means, squares);
}

MEDLEY_BOTH void UpdateAt(const HalfTensor& tensor, const AdamWRates& rates, std::int64_t block,
                          std::int64_t size) {
  const std::int64_t first = block * kBlock;
  UpdateBlock<OneLane>(HalfBlock{tensor.weights + first, tensor.gradients + first, tensor.means + first,
                                 tensor.squares + first, static_cast<std::uint32_t>(first), size},
                       rates);
}

// Whole blocks have a size that the compiler knows.
template <typename Tensor>
MEDLEY_BOTH void UpdateAll(const Tensor& tensor, const AdamWRates& rates, std::int64_t begin,
                           std::int64_t end) {
  const std::int64_t whole = std::min(end, tensor.numbers / kBlock);
  for (std::int64_t block = begin; block < whole; ++block) UpdateAt(tensor, rates, block, kBlock);
  for (std::int64_t block = std::max(begin, whole); block < end; ++block)
    UpdateAt(tensor, rates, block, tensor.numbers - block * kBlock);
}

template <typename Tensor>
void UpdateByBase(const Tensor& tensor, const AdamWRates& rates, std::int64_t begin, std::int64_t end) {
  UpdateAll(tensor, rates, begin, end);
}

#ifdef MEDLEY_AVX2
template <typename Tensor>
MEDLEY_AVX2 void UpdateByAvx2(const Tensor& tensor, const AdamWRates& rates, std::int64_t begin,
                              std::int64_t end) {
  UpdateAll(tensor, rates, begin, end);
}

template <typename Tensor>
MEDLEY_AVX512 void UpdateByAvx512(const Tensor& tensor, const AdamWRates& rates, std::int64_t begin,
                                  std::int64_t end) {
  UpdateAll(tensor, rates, begin, end);
}
#endif

template <typename Tensor>
void UpdateBy(Instructions instructions, const Tensor& tensor, const AdamWRates& rates, std::int64_t begin,
              std::int64_t end) {
#ifdef MEDLEY_AVX2
  if (instructions == Instructions::kAvx512) return UpdateByAvx512(tensor, rates, begin, end);
  if (instructions == Instructions::kAvx2) return UpdateByAvx2(tensor, rates, begin, end);
#endif
  UpdateByBase(tensor, rates, begin, end);
}

template <Map kMap>
void EncodeBlock(const float* values, std::int64_t size, std::uint8_t* codes, float& scale) {
  scale = 0;
  for (std::int64_t i = 0; i < size; ++i) scale = std::max(scale, std::abs(values[i]));
  const float inverse = InverseScale(scale);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int32_t code = CodeOf<kMap>(values[i] * inverse);
    codes[i] = static_cast<std::uint8_t>(kMap == Map::kUnsigned && code == 0 && values[i] > 0 ? 1 : code);
  }
}

}  // namespace

Instructions WidestInstructions() {
#ifdef MEDLEY_AVX2
  static const Instructions kWidest = [] {
    const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (has_avx512) return Instructions::kAvx512;
    return __builtin_cpu_supports("avx2") ? Instructions::kAvx2 : Instructions::kBase;
  }();
  return kWidest;
#else
  return Instructions::kBase;
#endif
}

void UpdateBlocks(const EightBitTensor& tensor, const AdamWRates& rates, std::int64_t begin, std::int64_t end,
                  Instructions instructions) {
  UpdateBy(instructions, tensor, rates, begin, end);
}

void UpdateBlocks(const HalfTensor& tensor, const AdamWRates& rates, std::int64_t begin, std::int64_t end,
                  Instructions instructions) {
  UpdateBy(instructions, tensor, rates, begin, end);
}

void Encode(Map map, const float* values, std::int64_t numbers, std::uint8_t* codes, float* scales) {
  for (std::int64_t first = 0; first < numbers; first += kBlock) {
    const auto encode = map == Map::kSigned ? EncodeBlock<Map::kSigned> : EncodeBlock<Map::kUnsigned>;
    encode(values + first, std::min(kBlock, numbers - first), codes + first, scales[first / kBlock]);
  }
}

void Decode(Map map, const std::uint8_t* codes, const float* scales, std::int64_t numbers, float* values) {
  for (std::int64_t i = 0; i < numbers; ++i) {
    const float value =
        map == Map::kSigned ? ValueOf<Map::kSigned>(codes[i]) : ValueOf<Map::kUnsigned>(codes[i]);
    values[i] = value * scales[i / kBlock];
  }
}

}  // namespace medley::kernels
