#pragma once

#include <string>
#include <string_view>

#include <medley/base/error.h>

namespace medley::test {

inline bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// What the exception of this type says that fn throws; "" where it throws none. Others pass.
template <typename E = Error, typename Fn>
std::string MessageOf(const Fn& fn) {
  try {
    fn();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace medley::test
