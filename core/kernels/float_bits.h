#pragma once

#include <cstdint>
#include <cstring>

#include <medley/kernels/both.h>

namespace medley::kernels {

MEDLEY_BOTH std::int32_t BitsOf(float value) {
  std::int32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

MEDLEY_BOTH float FloatOf(std::int32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace medley::kernels
