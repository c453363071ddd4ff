#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace medley {

inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

// A number of bytes or rows in a file that anyone may have edited; what is no sensible one is an exception
// that the caller words.
inline std::int64_t CountOf(const nlohmann::ordered_json& object, const char* name, std::int64_t low = 0,
                            std::int64_t high = kMostBytes) {
  const nlohmann::ordered_json& value = object.at(name);
  if (value.is_number_integer()) {  // others would be cast
    const auto count = value.get<std::int64_t>();
    if (count >= low && count <= high) return count;
  }
  throw std::out_of_range(std::string(name) + " is " + value.dump());
}

}  // namespace medley
