#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <medley_headers.h>

#if defined(__has_feature)
#define MEDLEY_HAS_FEATURE(x) __has_feature(x)
#else
#define MEDLEY_HAS_FEATURE(x) 0
#endif

// Counts the contracts between medley and its plugins: here, and nowhere else. Plugin directories and the
// entry end with it, and CMake reads it. Within one contract MEDLEY_HEADERS_DIGEST tells other headers apart.
#define MEDLEY_PLUGIN_API 2

#define MEDLEY_WORDS_(x) #x
#define MEDLEY_WORDS(x) MEDLEY_WORDS_(x)

// What the plugin boundary is made of: the number of the API, the headers, and what the compiler decided.
namespace medley {

inline constexpr int kPluginApi = MEDLEY_PLUGIN_API;
inline constexpr std::string_view kPluginFolder = "plugins-" MEDLEY_WORDS(MEDLEY_PLUGIN_API);

inline constexpr std::string_view kNoteOwner = "medley";
inline constexpr std::uint32_t kNoteType = 1;
inline constexpr std::size_t kMaxNoteBytes = 64 * 1024;  // of the JSON

namespace detail {

#ifdef __GLIBCXX__
inline constexpr std::string_view kStandardLibrary = "libstdc++";
#else
inline constexpr std::string_view kStandardLibrary = "another than libstdc++";
#endif

#ifdef _GLIBCXX_USE_CXX11_ABI
inline constexpr int kCxx11Abi = _GLIBCXX_USE_CXX11_ABI;
#else
inline constexpr int kCxx11Abi = -1;  // another standard library
#endif

#ifdef __clang__
inline constexpr std::string_view kCompiler = __VERSION__;
#else
inline constexpr std::string_view kCompiler = "GCC " __VERSION__;
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
