#pragma once

#include <array>
#include <cstdint>

#include <medley/kernels/both.h>
#include <medley/kernels/float_bits.h>

namespace medley::kernels {

// A number of [-1, 1], or of [0, 1], in 8 bits: the dynamic map of Dettmers et al. (2022, "8-bit Optimizers
// via Block-wise Quantization", 2.2). Each of the seven decades from 1e-7 to 1 is cut into equal parts, twice
// as many as the decade below it has, and a code stands for the middle of one; then there are 0 and 1.
//   signed:   codes 0 to 126 the negative ones, 127 is 0, 128 to 254 the positive ones, 255 is 1
//   unsigned: code 0 is 0, 1 to 254, 255 is 1; its decades have twice the parts
// Codes follow one another as their values do.
enum class Map { kSigned, kUnsigned };
inline constexpr std::int32_t kZeroOfSigned = 127;

// The values of the 256 codes, by the published construction. What the functions below compute without a
// table is these within 1e-6 of each.
std::array<float, 256> DynamicMap(Map map);

// What the two maps differ in. Magnitudes have codes of their own, which count from 0 for 0.
template <Map kMap>
struct MapShape {
  static constexpr bool kSigned = kMap == Map::kSigned;
  static constexpr float kParts = kSigned ? 64 : 128;         // of the decade below 1
  static constexpr std::int32_t kLast = kSigned ? 128 : 255;  // the code of 1
  static constexpr std::int32_t kShift = kSigned ? 0 : 1;
  // Half way to the neighbour: between 0 and the least, between the largest part and 1.
  static constexpr float kLeast = kSigned ? 2.75e-7F : 1.625e-7F;
  static constexpr float kMost = 1 - 0.225F / kParts;
};

// 10^(i-7), for 0 to 7.
MEDLEY_BOTH float PowerOfTen(std::int32_t i) {
  float power = (i & 1) != 0 ? 1e-6F : 1e-7F;
  power *= (i & 2) != 0 ? 1e2F : 1.0F;
  return power * ((i & 4) != 0 ? 1e4F : 1.0F);
}

// A decade of n parts has the codes n to 2n - 1 (of the unsigned map n - 1 to 2n - 2). So twice a code and 1
// for the middle, as a float, has the decade in its exponent and the place in the decade in its mantissa.
template <Map kMap>
MEDLEY_BOTH float MagnitudeOf(std::int32_t code) {
  using Shape = MapShape<kMap>;
  const std::int32_t bits = BitsOf(static_cast<float>(2 * code + 1 + 2 * Shape::kShift));
  const float place = FloatOf((bits & 0x7fffff) | 0x3f800000);  // of [1, 2)
  float value = PowerOfTen((bits >> 23) - 127 - Shape::kShift) * (0.9F * place - 0.8F);
  value = code == 0 ? 0.0F : value;
  return code == Shape::kLast ? 1.0F : value;
}

// Decades are counted from the one below 1. How many parts one has; what a value is multiplied with to get
// its place among the codes; and where it meets the one above it: half way between their outermost codes.
inline constexpr int kLowerDecades = 6;
MEDLEY_BOTH constexpr float HalvingsOf(int decade) { return static_cast<float>(1 << decade); }
MEDLEY_BOTH constexpr float TopOf(int decade) {
  constexpr float kTops[] = {1, 1e-1F, 1e-2F, 1e-3F, 1e-4F, 1e-5F, 1e-6F};
  return kTops[decade];
}
template <Map kMap>
MEDLEY_BOTH constexpr float PartsOf(int decade) {
  return MapShape<kMap>::kParts / HalvingsOf(decade);
}
template <Map kMap>
MEDLEY_BOTH constexpr float ScaleOf(int decade) {
  return MapShape<kMap>::kParts / (HalvingsOf(decade) * 0.9F * TopOf(decade));
}
template <Map kMap>
MEDLEY_BOTH constexpr float BoundOf(int decade) {
  return TopOf(decade) * (1 + 1.8F * (HalvingsOf(decade) / 2) / MapShape<kMap>::kParts);
}

template <Map kMap, int kDecade>
MEDLEY_BOTH void TakeLower(float value, float& parts, float& scale) {
  constexpr float kBound = BoundOf<kMap>(kDecade), kParts = PartsOf<kMap>(kDecade),
                  kScale = ScaleOf<kMap>(kDecade);
  const bool is_lower = value < kBound;
  parts = is_lower ? kParts : parts;
  scale = is_lower ? kScale : scale;
  if constexpr (kDecade < kLowerDecades) TakeLower<kMap, kDecade + 1>(value, parts, scale);
}

// The nearest of a magnitude up to 1, or one as near but for rounding.
template <Map kMap>
MEDLEY_BOTH std::int32_t MagnitudeCode(float value) {
  using Shape = MapShape<kMap>;
  float parts = PartsOf<kMap>(0), scale = ScaleOf<kMap>(0);
  TakeLower<kMap, 1>(value, parts, scale);
  const float at = value * scale + parts * (8 / 9.0F), most = 2 * parts - 1;
  std::int32_t code = static_cast<std::int32_t>(at < most ? at : most) - Shape::kShift;
  code = value < Shape::kLeast ? 0 : code;
  return value > Shape::kMost ? Shape::kLast : code;
}

// The same of the map's own codes.
template <Map kMap>
MEDLEY_BOTH float ValueOf(std::int32_t code) {
  if constexpr (kMap == Map::kUnsigned) return MagnitudeOf<kMap>(code);
  const std::int32_t from_zero = code - kZeroOfSigned;
  const float magnitude = MagnitudeOf<kMap>(from_zero < 0 ? -from_zero : from_zero);
  return from_zero < 0 ? -magnitude : magnitude;
}

template <Map kMap>
MEDLEY_BOTH std::int32_t CodeOf(float value) {
  if constexpr (kMap == Map::kUnsigned) return MagnitudeCode<kMap>(value);
  const std::int32_t bits = BitsOf(value), sign = bits >> 31;  // 0 or -1
  const std::int32_t code = MagnitudeCode<kMap>(FloatOf(bits & 0x7fffffff));
  const std::int32_t place = kZeroOfSigned + ((code ^ sign) - sign);
  return place < 0 ? 0 : place;  // -1 has no code of its own
}

}  // namespace medley::kernels
