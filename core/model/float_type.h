#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

namespace medley {

inline bool IsHalf(at::ScalarType type) { return at::isReducedFloatingType(type); }

// What sums, statistics, losses and masters of a type are kept in: float for the half types.
inline at::ScalarType AtLeastFloat(at::ScalarType type) { return IsHalf(type) ? at::kFloat : type; }

// The type by its name in a run config, which was checked.
inline at::ScalarType FloatTypeNamed(std::string_view name) {
  if (name == "fp16") return at::kHalf;
  return name == "bf16" ? at::kBFloat16 : at::kFloat;
}

}  // namespace medley
