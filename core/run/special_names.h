#pragma once

#include <string>
#include <vector>

#include <medley/run/run.h>

namespace medley {

// For each file that a named task reads texts from, and the control text, how many of its lines hold names of
// special tokens, where the first one is, and what becomes of them; none where there are none. Reads the
// files through, of long ones the begin.
std::vector<std::string> SpecialNameWords(const Run& run);

}  // namespace medley
