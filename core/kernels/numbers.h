#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <medley/kernels/both.h>
#include <medley/kernels/float_bits.h>
#include <medley/kernels/fused_calls.h>

namespace medley::kernels {

// Half types without CUDA's headers for them, which take longer to compile than all kernels, and are not
// beside every nvcc.
struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

MEDLEY_BOTH float Widened(float x) { return x; }
MEDLEY_BOTH float Widened(Bf16 x) { return FloatOf(static_cast<std::int32_t>(std::uint32_t{x.bits} << 16)); }
MEDLEY_BOTH float Widened(Fp16 x) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
#else
  const float magnitude = FloatOf((x.bits & 0x7fff) << 13) * 0x1p112F;
  const std::int32_t infinite = magnitude >= 0x1p16F ? 0xff << 23 : 0, sign = (x.bits & 0x8000) << 16;
  return FloatOf(BitsOf(magnitude) | infinite | sign);
#endif
}

// To the nearest, of two as near to the even one.
MEDLEY_BOTH void Round(float x, float& to) { to = x; }
MEDLEY_BOTH void Round(float x, Bf16& to) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  const auto bits = static_cast<std::uint32_t>(BitsOf(x));
  to.bits = static_cast<std::uint16_t>(x == x ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fc0);
#endif
}
MEDLEY_BOTH void Round(float x, Fp16& to) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
  const std::int32_t sign = BitsOf(x) & INT32_MIN, bits = BitsOf(x) ^ sign;
  std::int32_t half = 0;
  if (bits >= (127 + 16) << 23) {
    half = bits > 0xff << 23 ? 0x7e00 : 0x7c00;
  } else if (bits < (127 - 14) << 23) {  // the float's own rounding, at the place of a half's last bit
    half = BitsOf(FloatOf(bits) + 0.5F) - BitsOf(0.5F);
  } else {
    half = (bits + ((15 - 127) * (1 << 23)) + 0xfff + (bits >> 13 & 1)) >> 13;
  }
  to.bits = static_cast<std::uint16_t>(half | (sign >> 16 & 0x8000));
#endif
}

// Numbers that lie side by side, read and written 16 bytes at a time.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount < 16 ? sizeof(T) * kCount : 16) Packed {
  T at[kCount];
};
template <typename T>
inline constexpr int kWide = 16 / static_cast<int>(sizeof(T));

template <int kCount>
using Floats = Packed<float, kCount>;

// In global memory, 16 bytes at a time: said to the compiler, which else cuts some of these stores up.
template <typename Packed>
MEDLEY_BOTH void StorePacked(const Packed& packed, void* to) {
#ifdef __CUDA_ARCH__
  constexpr int kWords = sizeof(Packed) / 4;
  if constexpr (kWords >= 2) {
    std::uint32_t words[kWords];
    std::memcpy(words, &packed, sizeof packed);
    const auto address = __cvta_generic_to_global(to);
    if constexpr (kWords == 2) {
      asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(words[0]), "r"(words[1])
                   : "memory");
    } else {
      for (int i = 0; i < kWords; i += 4)
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address + 4 * i), "r"(words[i]),
                     "r"(words[i + 1]), "r"(words[i + 2]), "r"(words[i + 3])
                     : "memory");
    }
    return;
  }
#endif
  *static_cast<Packed*>(to) = packed;
}

template <int kCount, typename T>
MEDLEY_BOTH Floats<kCount> Load(const T* from) {
  const auto packed = *reinterpret_cast<const Packed<T, kCount>*>(from);
  Floats<kCount> wide;
  for (int i = 0; i < kCount; ++i) wide.at[i] = Widened(packed.at[i]);
  return wide;
}
template <int kCount, typename T>
MEDLEY_BOTH void Store(const Floats<kCount>& wide, T* to) {
  Packed<T, kCount> packed;
  for (int i = 0; i < kCount; ++i) Round(wide.at[i], packed.at[i]);
  StorePacked(packed, to);
}

// Whether `count` numbers at a time may be read from each such place. Null is fine.
MEDLEY_BOTH bool IsAligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}
template <typename... Strides>
bool AreMultiples(int count, Strides... strides) {
  return ((strides % count == 0) && ...);
}

// run.template operator()<T, count>(), of the type and of how many numbers go at a time: 16 bytes, or one.
template <typename T, typename Fits, typename Run>
const char* ByWidth(const Fits& fits, const Run& run) {
  return fits(kWide<T>) ? run.template operator()<T, kWide<T>>() : run.template operator()<T, 1>();
}
template <typename Fits, typename Run>
const char* ByType(Number type, const Fits& fits, const Run& run) {
  switch (type) {
    case Number::kFloat:
      return ByWidth<float>(fits, run);
    case Number::kBf16:
      return ByWidth<Bf16>(fits, run);
    case Number::kFp16:
      return ByWidth<Fp16>(fits, run);
  }
  return "no such type of numbers";
}

}  // namespace medley::kernels
