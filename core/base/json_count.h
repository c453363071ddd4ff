#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace medley {

inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
inline constexpr std::int64_t kMostOperations = std::int64_t{1} << 62;  // floating-point, of a step

// A number of bytes, rows or the like in a file that anyone may have edited; what is no sensible one is an
// exception that the caller words. Use these, not get<std::int64_t>(): that casts 1e300 too, which is
// undefined.
template <typename Json>
std::int64_t CheckedCount(const Json& value, const std::string& name, std::int64_t low = 0,
                          std::int64_t high = kMostBytes) {
  if (value.is_number_integer() && (!value.is_number_unsigned() || value <= INT64_MAX)) {
    const auto count = value.template get<std::int64_t>();
    if (count >= low && count <= high) return count;
  }
  throw std::out_of_range(name + " is " + value.dump());
}

// The one that an object has under a name.
template <typename Json>
std::int64_t CountOf(const Json& object, const char* name, std::int64_t low = 0,
                     std::int64_t high = kMostBytes) {
  return CheckedCount(object.at(name), name, low, high);
}

}  // namespace medley
