#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace medley {

// "512 B", "1.5 GiB"; at most one decimal. Below 0 with a minus sign.
std::string FormatBytes(std::int64_t bytes);

// "6GiB", "1.5 MiB", "500MB" (powers of 1000), "1024" or "1024B"; unit letters in any case. Throws
// InputError.
std::int64_t ParseBytes(std::string_view text);

}  // namespace medley
