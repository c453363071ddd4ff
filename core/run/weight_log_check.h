#pragma once

#include <filesystem>
#include <string>

#include <medley/curriculum/weight_log.h>

namespace medley {

// Why the log of a run's weights is not what the run wrote, by its own sums and what the newest checkpoint
// with a manifest was saved after; the rest of a sentence that its path begins, "" where it is.
std::string WeightLogProblem(const std::filesystem::path& directory, const WeightLog& log);
// The same as a sentence with what to do; "" too.
std::string WeightLogProblemWords(const std::filesystem::path& directory, const WeightLog& log);

// An InputError where a run that has a log of its weights has lost the file of them: what that was copied
// from is not what the run was trained with. Runs of older medleys have neither.
void RequireOwnWeights(const std::filesystem::path& directory);
// The same, with what to do, where that file is no JSON.
void RequireJsonOfWeights(const std::filesystem::path& directory);

}  // namespace medley
