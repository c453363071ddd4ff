#pragma once

// The codes of a whole block with AVX-512, bit for bit as kernels/dynamic_code.h computes them: what that
// selects by comparisons lies here in registers of 16 numbers, from which an instruction picks. Compilers do
// not see this, and it nearly halves the time of an update.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>

#include <medley/kernels/dynamic_code.h>

#ifdef __clang__
#define MEDLEY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else  // in whole registers: GCC takes half ones otherwise
#define MEDLEY_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif

// A call for a whole block; inlined, loops of all four would be unrolled into one that spills its registers.
#define MEDLEY_WIDE [[gnu::noinline]] MEDLEY_AVX512

namespace medley::kernels {

// Of a map: powers of ten, and by decade, from the highest, parts and scale. By the exponent of a value, from
// -31 to 0: the highest decade that it may have, and the value below which it has the next; 0 where all have
// the same.
template <Map kMap>
struct WideTables {
  WideTables();

  alignas(64) float powers[16] = {}, parts[16] = {}, scales[16] = {}, bounds[32] = {};
  alignas(64) std::int32_t decades[32] = {};
};

template <Map kMap>
WideTables<kMap>::WideTables() {
  for (int i = 0; i < 8; ++i) powers[i] = PowerOfTen(i);
  float lower[kLowerDecades];  // where each decade meets the one below it
  for (int decade = 0; decade <= kLowerDecades; ++decade) {
    parts[decade] = PartsOf<kMap>(decade), scales[decade] = ScaleOf<kMap>(decade);
    if (decade > 0) lower[decade - 1] = BoundOf<kMap>(decade);
  }
  for (int exponent = 0; exponent < 32; ++exponent) {
    const float least = FloatOf((96 + exponent) << 23), most = FloatOf((97 + exponent) << 23);
    for (const float bound : lower) {
      if (most <= bound) ++decades[exponent];
      if (least < bound && bound < most) bounds[exponent] = bound;
    }
  }
}

template <Map kMap>
inline const WideTables<kMap> kWideTables;

template <Map kMap>
MEDLEY_WIDE inline void DecodeWide(const std::uint8_t* codes, float scale, float* values) {
  using Shape = MapShape<kMap>;
  const __m512 powers = _mm512_load_ps(kWideTables<kMap>.powers);
  const __m512i zero = _mm512_set1_epi32(Shape::kSigned ? kZeroOfSigned : 0);
  for (std::int64_t i = 0; i < 256; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i));
    const __m512i from_zero = _mm512_sub_epi32(_mm512_cvtepu8_epi32(bytes), zero);
    const __m512i code = _mm512_abs_epi32(from_zero);
    const __m512i odd =
        _mm512_add_epi32(_mm512_add_epi32(code, code), _mm512_set1_epi32(1 + 2 * Shape::kShift));
    const __m512i bits = _mm512_castps_si512(_mm512_cvtepi32_ps(odd));
    const __m512 place = _mm512_castsi512_ps(
        _mm512_or_si512(_mm512_and_si512(bits, _mm512_set1_epi32(0x7fffff)), _mm512_set1_epi32(0x3f800000)));
    const __m512i exponent =
        _mm512_sub_epi32(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(127 + Shape::kShift));
    const __m512 in_decade = _mm512_sub_ps(_mm512_mul_ps(_mm512_set1_ps(0.9F), place), _mm512_set1_ps(0.8F));
    __m512 value = _mm512_mul_ps(_mm512_permutexvar_ps(exponent, powers), in_decade);
    value = _mm512_maskz_mov_ps(_mm512_test_epi32_mask(code, code), value);
    value = _mm512_mask_mov_ps(value, _mm512_cmpeq_epi32_mask(code, _mm512_set1_epi32(Shape::kLast)),
                               _mm512_set1_ps(1));
    const __m512i sign = _mm512_and_si512(from_zero, _mm512_set1_epi32(INT32_MIN));
    value = _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(value), sign));
    _mm512_storeu_ps(values + i, _mm512_mul_ps(value, _mm512_set1_ps(scale)));
  }
}

template <Map kMap>
MEDLEY_WIDE inline void EncodeWide(const float* values, float per_scale, std::uint8_t* codes) {
  using Shape = MapShape<kMap>;
  const WideTables<kMap>& tables = kWideTables<kMap>;
  const __m512 low_bounds = _mm512_load_ps(tables.bounds), high_bounds = _mm512_load_ps(tables.bounds + 16),
               all_parts = _mm512_load_ps(tables.parts), scales = _mm512_load_ps(tables.scales);
  const __m512i low_decades = _mm512_load_si512(tables.decades),
                high_decades = _mm512_load_si512(tables.decades + 16), one = _mm512_set1_epi32(1);
  for (std::int64_t i = 0; i < 256; i += 16) {
    const __m512 own = _mm512_loadu_ps(values + i), scaled = _mm512_mul_ps(own, _mm512_set1_ps(per_scale)),
                 value = _mm512_abs_ps(scaled);
    const __m512i exponent = _mm512_max_epi32(
        _mm512_sub_epi32(_mm512_srli_epi32(_mm512_castps_si512(value), 23), _mm512_set1_epi32(96)),
        _mm512_setzero_si512());
    const __mmask16 is_lower =
        _mm512_cmp_ps_mask(value, _mm512_permutex2var_ps(low_bounds, exponent, high_bounds), _CMP_LT_OQ);
    __m512i decade = _mm512_permutex2var_epi32(low_decades, exponent, high_decades);
    decade = _mm512_mask_add_epi32(decade, is_lower, decade, one);
    const __m512 parts = _mm512_permutexvar_ps(decade, all_parts);
    const __m512 at = _mm512_add_ps(_mm512_mul_ps(value, _mm512_permutexvar_ps(decade, scales)),
                                    _mm512_mul_ps(parts, _mm512_set1_ps(8 / 9.0F)));
    const __m512 most = _mm512_sub_ps(_mm512_add_ps(parts, parts), _mm512_set1_ps(1));
    __m512i code =
        _mm512_sub_epi32(_mm512_cvttps_epi32(_mm512_min_ps(at, most)), _mm512_set1_epi32(Shape::kShift));
    code = _mm512_maskz_mov_epi32(_mm512_cmp_ps_mask(value, _mm512_set1_ps(Shape::kLeast), _CMP_GE_OQ), code);
    code = _mm512_mask_mov_epi32(code, _mm512_cmp_ps_mask(value, _mm512_set1_ps(Shape::kMost), _CMP_GT_OQ),
                                 _mm512_set1_epi32(Shape::kLast));
    if constexpr (Shape::kSigned) {
      const __m512i sign = _mm512_srai_epi32(_mm512_castps_si512(scaled), 31);
      code = _mm512_add_epi32(_mm512_set1_epi32(kZeroOfSigned),
                              _mm512_sub_epi32(_mm512_xor_si512(code, sign), sign));
      code = _mm512_max_epi32(code, _mm512_setzero_si512());
    } else {
      code = _mm512_mask_max_epi32(code, _mm512_cmp_ps_mask(own, _mm512_setzero_ps(), _CMP_GT_OQ), code, one);
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + i), _mm512_cvtepi32_epi8(code));
  }
}

}  // namespace medley::kernels

#endif
