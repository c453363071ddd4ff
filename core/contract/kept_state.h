#pragma once

#include <string>

#include <medley/contract/contract_reruns.h>
#include <medley/step/passes/pass_runner.h>

namespace medley {

// What a task keeps between calls, which it must not: of the row that ran before. Runs it twice more, without
// graphs, after which the same memory must be in use; in words what was kept, "" where nothing was.
std::string CompareMemory(const MicroBatch::Setting& setting, const Batch& one_row);

// Makes the task once more, which knows no other row, and asks it for the row and its sums: what differs, in
// words; "" where nothing does, or where it cannot be made.
std::string CompareInstances(const MicroBatch::Setting& setting, const Batch& one_row);

}  // namespace medley
