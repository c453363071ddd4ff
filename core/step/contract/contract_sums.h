#pragma once

#include <string>
#include <vector>

#include <medley/step/passes/pass_runner.h>

namespace medley {

// Runs the passes, without graphs, over each of a few neighbouring rows alone and over the first two
// together. What a task makes of the outputs must add up to its rounding (LossCheck). What the model gives a
// row must be the same whatever rows are beside it, as far as rounding lets one tell: in the numbers that a
// term learns from, and within 2 % in the sums. A term of weight 0 is left out: a figure may jump where
// rounding decides. Passes must leave the batch and the constants as they were. `thorough`: looks at all of
// these rows, whatever that costs. What differs, in words.
std::vector<std::string> CompareTogether(const MicroBatch::Setting& setting, const Batch& few_rows,
                                         bool thorough);

}  // namespace medley
