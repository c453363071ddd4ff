#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__has_feature)
#define MEDLEY_HAS_FEATURE(x) __has_feature(x)
#else
#define MEDLEY_HAS_FEATURE(x) 0
#endif

// What the plugin boundary is made of: the number of the API, and what the compiler decided.
namespace medley {

// Counts incompatible changes of what a plugin includes; plugin directories end with it.
inline constexpr int kPluginApi = 1;

inline constexpr std::string_view kNoteOwner = "medley";
inline constexpr std::uint32_t kNoteType = 1;
inline constexpr std::size_t kMaxNoteBytes = 64 * 1024;  // of the JSON

namespace detail {

#ifdef _GLIBCXX_USE_CXX11_ABI
inline constexpr int kCxx11Abi = _GLIBCXX_USE_CXX11_ABI;
#else
inline constexpr int kCxx11Abi = -1;  // another standard library
#endif

// libtorch and medley hand each other the plain containers, so this is always false: the note has it for
// plugins of older headers.
#ifdef _GLIBCXX_DEBUG
#error "medley: _GLIBCXX_DEBUG makes other containers than libtorch and medley have; build without it"
#endif
inline constexpr bool kDebugContainers = false;

#if defined(__SANITIZE_ADDRESS__) || MEDLEY_HAS_FEATURE(address_sanitizer)
inline constexpr std::string_view kSanitizer = "address";
#elif defined(__SANITIZE_THREAD__) || MEDLEY_HAS_FEATURE(thread_sanitizer)
inline constexpr std::string_view kSanitizer = "thread";
#else
inline constexpr std::string_view kSanitizer = "none";
#endif

}  // namespace detail
}  // namespace medley
