#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <string>

// What users of PCRE2 share. For sources alone: the library is no dependency of medley's headers.
namespace medley::pcre2 {

// Deleter for a unique_ptr of what the function frees.
template <auto kFree>
struct FreedBy {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};

// PCRE2's words for an error.
inline std::string Words(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace medley::pcre2
