#pragma once

#include <cstdio>

namespace medley {

// Whether a line can be repainted there: a terminal that knows escape codes, which TERM=dumb does not.
bool IsTerminal(std::FILE* out);

}  // namespace medley
