#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <medley/contract/recorded_model.h>
#include <medley/step/passes/pass_runner.h>

namespace medley {

struct Judged;

// What the passes of a variant gave, in their order; without graphs.
struct PassValues {
  std::vector<Sums> sums;
  std::map<std::string, at::Tensor, std::less<>> carries;
};

// What they and the model gave some rows, without graphs.
struct RowsRun {
  std::vector<std::map<std::string, double>> sums;  // by pass; by term
  RowOutputs outputs{};
};

// What rows that ran alone gave, by their numbers.
using AloneRuns = std::map<std::int64_t, RowsRun>;

// Runs the passes over the rows, each once.
RowsRun RunRows(const MicroBatch::Setting& setting, const Batch& rows);

// Runs the passes again without graphs, from the last to the first and after another row (or none): every
// mode but joint, and micro-batches, rely on it that they then give the same. What differs, in words. It
// finds what no graph shows: values that a task keeps from one call to the next.
//
// On the CPU bit for bit. A model may round otherwise where it keeps no graph; so a small difference counts
// only if two runs without one, after the first and after the second of the other rows, differ too.
// Adds what ran to `alone`.
std::vector<std::string> CompareRepeat(const MicroBatch::Setting& setting, const Batch& one_row,
                                       const std::vector<Batch>& other_rows, const PassValues& first,
                                       AloneRuns& alone);

// Runs the passes, without graphs, over each of a few neighbouring rows alone and over the first two
// together. What a task makes of the outputs must add up to its rounding (LossCheck). What the model gives a
// row must be the same whatever rows are beside it, as far as rounding lets one tell: in the numbers that a
// term learns from, and within 2 % in the sums. A term of weight 0 is left out: a figure may jump where
// rounding decides. Passes must leave the batch and the constants as they were. `thorough`: looks at all of
// these rows, whatever that costs. `known`: rows that need not run alone any more; none of them is there
// afterwards. What differs, in words; what the losses' check could tell, and could not, is added to `judged`.
std::vector<std::string> CompareTogether(const MicroBatch::Setting& setting, const Batch& few_rows,
                                         AloneRuns& known, bool thorough, Judged& judged);

// Whether what the task makes of rows that are unlike adds up, each alone against all together, however large
// the model's outputs are. `numbers`: of the rows, which need not be neighbours; `thorough`: and its
// gradient. `judged`: of neighbours, and of these.
std::vector<std::string> CompareUnlike(const MicroBatch::Setting& setting, const Batch& rows,
                                       const std::vector<std::int64_t>& numbers, bool thorough,
                                       Judged& judged);

}  // namespace medley
