#pragma once

#include <cstdint>

namespace medley::fuzz {

// What malloc and its like gave to this process, to whichever library: bytes that live now, and the most
// since the last reset.
std::int64_t LiveBytes();
std::int64_t MostBytes();
void ResetMostBytes();

}  // namespace medley::fuzz
