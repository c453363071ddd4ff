#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

// What names and numbers of a spec may be: for the compiler, and again for who reads a plugin's note.
namespace medley::detail {

constexpr bool IsName(std::string_view name) {
  if (name.empty() || name.size() > 64 || name[0] < 'a' || name[0] > 'z') return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-')) return false;
  }
  return true;
}

// A text for people that fits beside a name: without control characters, of at most 200 bytes.
constexpr bool IsShortLine(std::string_view text) {
  if (text.size() > 200) return false;
  for (const char c : text) {
    if ((c >= 0 && c < ' ') || c == '\x7f') return false;
  }
  return true;
}

constexpr bool IsFinite(double value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return value > -kInfinity && value < kInfinity;
}

template <typename Items>
constexpr bool NamesAreGood(const Items& items) {
  for (const auto& item : items) {
    if (!IsName(item.name)) return false;
  }
  return true;
}

template <typename Items>
constexpr bool NamesDiffer(const Items& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (items[i].name == items[j].name) return false;
    }
  }
  return true;
}

}  // namespace medley::detail
