#pragma once

#include <cstdint>

namespace medley::fuzz {

// This program's operator new counts: bytes that live now, and the most since the last reset. Of one thread.
std::int64_t LiveBytes();
std::int64_t MostBytes();
void ResetMostBytes();

}  // namespace medley::fuzz
