#pragma once

#include <cstdint>
#include <vector>

#include <medley/curriculum/mixer.h>

namespace medley {

// A draw and what a row of it costs, in a unit that all draws of a step share; at least 1.
struct CostedDraw {
  Draw draw;
  std::int64_t cost_per_row = 1;
};

// Who computes what: for each of `ranks` processes the pieces of the step's draws that are its own. Together
// they are the draws' rows, each once; the pieces of a draw lie one behind the other, and a process has at
// most one of each. A process may have none. No process has more than its even part of the cost and one row
// more. A function of the arguments alone, in whole numbers: every process finds the same.
std::vector<std::vector<Draw>> AssignRows(const std::vector<CostedDraw>& costed, std::int64_t ranks);

// The same of what is not divided: for each piece of work the rank whose it is. The dearest goes first, to
// who has the least so far, of those the lowest. Costs are at least 1.
std::vector<std::int64_t> AssignWhole(const std::vector<std::int64_t>& costs, std::int64_t ranks);

}  // namespace medley
