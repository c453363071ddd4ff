#pragma once

#include <filesystem>
#include <string>

namespace medley {

// A table of a run's phases from its timing.jsonl: of each, its steps (of predictions, how many), the bytes
// in use between two steps when it first and last ended, what they grew by a step, the highest peak, and rows
// a second; then what predictions cost: rows a second with them, of those without. "" where the run has no
// phases, or the log is missing. Lines that cannot be read are passed over.
std::string PhasesTable(const std::filesystem::path& timing);

}  // namespace medley
