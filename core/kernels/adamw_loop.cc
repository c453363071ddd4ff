#include <medley/kernels/adamw_loop.h>

#include <algorithm>
#include <cmath>

#include <medley/kernels/wide_block.h>

#if defined(__x86_64__)
#define MEDLEY_AVX2 __attribute__((target("avx2")))
#endif

namespace medley::kernels {
namespace {

template <typename Lanes>
MEDLEY_BOTH void UpdateOf(const EightBitBlock& block, const AdamWRates& rates) {
  alignas(64) float means[kBlock], squares[kBlock];
  UpdateBlock<Lanes>(block, rates, means, squares);
}

#ifdef MEDLEY_AVX2
// Of whole blocks.
struct WideLane : OneLane {};

template <>
MEDLEY_BOTH void UpdateOf<WideLane>(const EightBitBlock& block, const AdamWRates& rates) {
  UpdateWide(block, rates);
}
#endif

template <typename Lanes>
MEDLEY_BOTH void UpdateOf(const HalfBlock& block, const AdamWRates& rates) {
  UpdateBlock<Lanes>(block, rates);
}

// Whole blocks have a size that the compiler knows.
template <typename Lanes, typename Tensor>
MEDLEY_BOTH void UpdateAll(const Tensor& tensor, const AdamWRates& rates, std::int64_t begin,
                           std::int64_t end) {
  const std::int64_t whole = std::min(end, tensor.numbers / kBlock);
  for (std::int64_t block = begin; block < whole; ++block)
    UpdateOf<Lanes>(BlockOf(tensor, block, kBlock), rates);
  for (std::int64_t block = std::max(begin, whole); block < end; ++block)
    UpdateOf<OneLane>(BlockOf(tensor, block, tensor.numbers - block * kBlock), rates);
}

template <typename Tensor>
void UpdateByBase(const Tensor& tensor, const AdamWRates& rates, std::int64_t begin, std::int64_t end) {
  UpdateAll<OneLane>(tensor, rates, begin, end);
}

#ifdef MEDLEY_AVX2
template <typename Tensor>
MEDLEY_AVX2 void UpdateByAvx2(const Tensor& tensor, const AdamWRates& rates, std::int64_t begin,
                              std::int64_t end) {
  UpdateAll<OneLane>(tensor, rates, begin, end);
}

template <typename Tensor>
MEDLEY_AVX512 void UpdateByAvx512(const Tensor& tensor, const AdamWRates& rates, std::int64_t begin,
                                  std::int64_t end) {
  UpdateAll<WideLane>(tensor, rates, begin, end);
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
void EncodeOne(const float* values, std::int64_t size, std::uint8_t* codes, float& scale) {
  scale = 0;
  for (std::int64_t i = 0; i < size; ++i) scale = std::max(scale, std::abs(values[i]));
  EncodeBlock<OneLane, kMap>(values, InverseScale(scale), size, codes);
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
  const auto encode = map == Map::kSigned ? EncodeOne<Map::kSigned> : EncodeOne<Map::kUnsigned>;
  for (std::int64_t first = 0; first < numbers; first += kBlock)
    encode(values + first, std::min(kBlock, numbers - first), codes + first, scales[first / kBlock]);
}

void Decode(Map map, const std::uint8_t* codes, const float* scales, std::int64_t numbers, float* values) {
  for (std::int64_t first = 0; first < numbers; first += kBlock) {
    const std::int64_t size = std::min(kBlock, numbers - first);
    const auto decode =
        map == Map::kSigned ? DecodeBlock<OneLane, Map::kSigned> : DecodeBlock<OneLane, Map::kUnsigned>;
    decode(codes + first, scales[first / kBlock], size, values + first);
  }
}

}  // namespace medley::kernels
