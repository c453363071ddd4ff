#pragma once

#include <string>
#include <vector>

#include <medley/step/passes/pass_runner.h>

namespace medley {

// Runs the passes, without graphs, over two rows together and over each alone: every term of the two must be
// the sum of its parts, for else micro-batches, ranks and draws would not add up. Within 2 %: what is looked
// for (a mean, a row that counts for its neighbours) is far above it, what rounding does far below. A term of
// weight 0 is left out: a figure may jump where rounding decides. What differs, in words.
std::vector<std::string> CompareTogether(const MicroBatch::Setting& setting, const Batch& two_rows);

}  // namespace medley
