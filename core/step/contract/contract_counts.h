#pragma once

#include <string>
#include <vector>

#include <medley/step/contract/loss_runs.h>

namespace medley {

// Whether rows of unlike length count their items as they add them up; what differs, in words. Of terms with
// a weight that learn from one output alone, unless they say counts_otherwise. Hands a task outputs of a size
// that no model gives, which on a GPU may end in an assert of the device: for the CPU.
//
// Far from its targets every usual loss (squares, absolute values, Huber's, cross-entropies) rises as steeply
// as its weight says. So two mistakes show: numbers of one weight that are added up, of which a row counts as
// many items however many numbers it has; and rows of one weight, which count as many items as they have
// numbers. Of other weights nothing is said, nor of rows that are all alike. Looks at so many rows.
std::vector<std::string> CompareCounts(LossRuns& runs, std::int64_t rows);

}  // namespace medley
