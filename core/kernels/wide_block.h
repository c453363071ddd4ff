#pragma once

// The update of a whole block with AVX-512, bit for bit as kernels/adamw_block.h computes it of finite
// moments: what that selects by comparisons lies here in registers of 16 numbers, from which an instruction
// picks, and 0 and 1 are decades of their own. Compilers do not see this, and it halves the time.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cmath>
#include <cstdint>

#include <medley/kernels/adamw_block.h>

#ifdef __clang__
#define MEDLEY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else  // in whole registers: GCC takes half ones otherwise
#define MEDLEY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define MEDLEY_WIDE [[gnu::always_inline]] MEDLEY_AVX512

namespace medley::kernels {

// The decades of a map, from the highest: 1, those from MagnitudeCode, 0.
inline constexpr int kWideDecades = kLowerDecades + 3;

// Of a map. To decode: by the last four bits of the exponent of a code's middle, its decade's power. To
// encode: by decade what MagnitudeCode multiplies with, adds, and cuts at; by the last five bits of a value's
// exponent, which goes from -31 to 0, the highest decade that it may have and the value below which it has
// the next; 0 where all have the same.
template <Map kMap>
struct WideTables {
  WideTables();

  alignas(64) float powers[16] = {}, scales[16] = {}, offsets[16] = {}, most[16] = {}, bounds[32] = {};
  alignas(64) std::int32_t decades[32] = {};
};

// What a decade's place is multiplied with; for the code of 1 what makes 1 of it.
template <Map kMap>
float WidePower(int decade) {
  using Shape = MapShape<kMap>;
  if (decade < 8) return decade == 0 ? 0.0F : PowerOfTen(decade);
  const float place = 0.9F * (1 + 0.5F / static_cast<float>(Shape::kLast + Shape::kShift)) - 0.8F;
  float power = 1 / place;
  while (power * place > 1) power = std::nextafter(power, 0.0F);
  while (power * place < 1) power = std::nextafter(power, 16.0F);
  return power;
}

template <Map kMap>
WideTables<kMap>::WideTables() {
  using Shape = MapShape<kMap>;
  for (int decade = 0; decade <= 8; ++decade)
    powers[(127 + Shape::kShift - 1 + decade) & 15] = WidePower<kMap>(decade);
  float lower[kWideDecades - 1];  // where each decade meets the one below it
  lower[0] = std::nextafter(Shape::kMost, 1.0F), lower[kWideDecades - 2] = Shape::kLeast;
  offsets[0] = most[0] = static_cast<float>(Shape::kLast + Shape::kShift);
  for (int decade = 0; decade <= kLowerDecades; ++decade) {
    const float parts = PartsOf<kMap>(decade);
    scales[decade + 1] = ScaleOf<kMap>(decade), offsets[decade + 1] = parts * (8 / 9.0F);
    most[decade + 1] = 2 * parts - 1;
    if (decade > 0) lower[decade] = BoundOf<kMap>(decade);
  }
  offsets[kWideDecades - 1] = most[kWideDecades - 1] =
      Shape::kSigned ? 0 : 2;  // of squares: the least above 0
  for (int exponent = 0; exponent < 32; ++exponent) {
    const float least = FloatOf((96 + exponent) << 23), end = FloatOf((97 + exponent) << 23);
    for (const float bound : lower) {
      if (end <= bound) ++decades[exponent];
      if (least < bound && bound < end) bounds[exponent] = bound;
    }
  }
}

template <Map kMap>
inline const WideTables<kMap> kWideTables;

template <Map kMap>
MEDLEY_WIDE inline __m512 Decoded(const std::uint8_t* codes, __m512 powers, __m512 scale) {
  using Shape = MapShape<kMap>;
  const __m512i mantissa = _mm512_set1_epi32(0x7fffff), one = _mm512_set1_epi32(0x3f800000),
                sign = _mm512_set1_epi32(INT32_MIN);
  __m512i code = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  if constexpr (Shape::kSigned) code = _mm512_sub_epi32(code, _mm512_set1_epi32(kZeroOfSigned));
  const __m512 middle = _mm512_add_ps(_mm512_cvtepi32_ps(Shape::kSigned ? _mm512_abs_epi32(code) : code),
                                      _mm512_set1_ps(0.5F + Shape::kShift));
  const __m512i bits = _mm512_castps_si512(middle);
  const __m512 place =
      _mm512_castsi512_ps(_mm512_ternarylogic_epi32(bits, mantissa, one, 0xEA));  // (a & b) | c
  const __m512 in_decade = _mm512_sub_ps(_mm512_mul_ps(_mm512_set1_ps(0.9F), place), _mm512_set1_ps(0.8F));
  __m512 value = _mm512_mul_ps(_mm512_permutexvar_ps(_mm512_srli_epi32(bits, 23), powers), in_decade);
  if constexpr (Shape::kSigned) {
    value = _mm512_castsi512_ps(_mm512_ternarylogic_epi32(code, sign, _mm512_castps_si512(value), 0xEA));
  }
  return _mm512_mul_ps(value, scale);
}

template <Map kMap>
MEDLEY_WIDE inline void EncodeWide(const float* values, float per_scale, std::uint8_t* codes) {
  using Shape = MapShape<kMap>;
  const WideTables<kMap>& tables = kWideTables<kMap>;
  const __m512 low_bounds = _mm512_load_ps(tables.bounds), high_bounds = _mm512_load_ps(tables.bounds + 16),
               scales = _mm512_load_ps(tables.scales), offsets = _mm512_load_ps(tables.offsets),
               all_most = _mm512_load_ps(tables.most), inverse = _mm512_set1_ps(per_scale),
               least = _mm512_set1_ps(0x1p-31F);
  const __m512i low_decades = _mm512_load_si512(tables.decades),
                high_decades = _mm512_load_si512(tables.decades + 16), one = _mm512_set1_epi32(1);
  for (std::int64_t i = 0; i < kBlock; i += 16) {
    const __m512 own = _mm512_loadu_ps(values + i), scaled = _mm512_mul_ps(own, inverse);
    const __m512 value = _mm512_range_ps(scaled, least, 0b1011);  // the larger magnitude
    const __m512i exponent = _mm512_srli_epi32(_mm512_castps_si512(value), 23);
    const __mmask16 is_lower =
        _mm512_cmp_ps_mask(value, _mm512_permutex2var_ps(low_bounds, exponent, high_bounds), _CMP_LT_OQ);
    __m512i decade = _mm512_permutex2var_epi32(low_decades, exponent, high_decades);
    decade = _mm512_mask_add_epi32(decade, is_lower, decade, one);
    __m512 at = _mm512_add_ps(_mm512_mul_ps(value, _mm512_permutexvar_ps(decade, scales)),
                              _mm512_permutexvar_ps(decade, offsets));
    at = _mm512_min_ps(at, _mm512_permutexvar_ps(decade, all_most));
    __m128i bytes;
    if constexpr (Shape::kSigned) {
      // Turned round: -128 is the code of 1, and 128, which there is none of, becomes 127.
      const __m512i turned =
          _mm512_ternarylogic_epi32(_mm512_castps_si512(scaled), _mm512_set1_epi32(INT32_MIN),
                                    _mm512_castps_si512(at), 0xAE);  // (~a & b) | c
      bytes = _mm512_cvtsepi32_epi8(_mm512_cvttps_epi32(_mm512_castsi512_ps(turned)));
      bytes = _mm_sub_epi8(_mm_set1_epi8(kZeroOfSigned), bytes);
    } else {
      const __mmask16 is_positive = _mm512_cmp_ps_mask(own, _mm512_setzero_ps(), _CMP_GT_OQ);
      bytes = _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(at));
      bytes = _mm_maskz_sub_epi8(is_positive, bytes, _mm_set1_epi8(Shape::kShift));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + i), bytes);
  }
}

// Of kBlock numbers.
[[gnu::noinline]] MEDLEY_AVX512 inline void UpdateWide(const EightBitBlock& block, const AdamWRates& rates) {
  alignas(64) float means[kBlock], squares[kBlock];
  const __m512 mean_powers = _mm512_load_ps(kWideTables<Map::kSigned>.powers),
               square_powers = _mm512_load_ps(kWideTables<Map::kUnsigned>.powers),
               old_mean_scale = _mm512_set1_ps(*block.mean_scale),
               old_square_scale = _mm512_set1_ps(*block.square_scale),
               gradient_scale = _mm512_set1_ps(rates.gradient_scale), gain1 = _mm512_set1_ps(rates.gain1),
               keep2 = _mm512_set1_ps(rates.keep2), gain2 = _mm512_set1_ps(rates.gain2),
               step = _mm512_set1_ps(rates.step), root_scale = _mm512_set1_ps(rates.root_scale),
               keep_weight = _mm512_set1_ps(rates.keep_weight), epsilon = _mm512_set1_ps(rates.epsilon);
  __m512i mean_most = _mm512_setzero_si512(),
          square_most = mean_most;  // as bits: magnitudes have their order
  for (std::int64_t i = 0; i < kBlock; i += 16) {
    __m512 mean = Decoded<Map::kSigned>(block.means + i, mean_powers, old_mean_scale);
    __m512 square = Decoded<Map::kUnsigned>(block.squares + i, square_powers, old_square_scale);
    const __m512 gradient = _mm512_mul_ps(_mm512_loadu_ps(block.gradients + i), gradient_scale);
    mean = _mm512_add_ps(mean, _mm512_mul_ps(_mm512_sub_ps(gradient, mean), gain1));
    square =
        _mm512_add_ps(_mm512_mul_ps(square, keep2), _mm512_mul_ps(_mm512_mul_ps(gradient, gradient), gain2));
    const __m512 root = _mm512_add_ps(_mm512_mul_ps(_mm512_sqrt_ps(square), root_scale), epsilon);
    const __m512 kept = _mm512_mul_ps(_mm512_loadu_ps(block.weights + i), keep_weight);
    _mm512_storeu_ps(block.weights + i, _mm512_sub_ps(kept, _mm512_div_ps(_mm512_mul_ps(step, mean), root)));
    _mm512_store_ps(means + i, mean), _mm512_store_ps(squares + i, square);
    mean_most = _mm512_max_epi32(mean_most, _mm512_castps_si512(_mm512_abs_ps(mean)));
    square_most = _mm512_max_epi32(square_most, _mm512_castps_si512(square));
  }
  const float mean_scale = FloatOf(_mm512_reduce_max_epi32(mean_most)),
              square_scale = FloatOf(_mm512_reduce_max_epi32(square_most));
  *block.mean_scale = mean_scale, *block.square_scale = square_scale;
  EncodeWide<Map::kSigned>(means, InverseScale(mean_scale), block.means);
  EncodeWide<Map::kUnsigned>(squares, InverseScale(square_scale), block.squares);
}

}  // namespace medley::kernels

#endif
