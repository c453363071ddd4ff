#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/data/data_rules.h>

namespace medley {

// Where they stand in run.json.
inline constexpr const char* kDataRules = "data_rules";

// What a run's record says; without a record, or without such a key in it, the rules before there were any.
DataRules RulesIn(const nlohmann::ordered_json& record);

// A resolved config as it was written; an object.
nlohmann::ordered_json ReadResolved(const std::filesystem::path& config);
// Whether it was written since there is an eval.seed; before, evaluations went by the run's own.
bool SaysEvalSeed(const nlohmann::ordered_json& config);
nlohmann::ordered_json EvalSeedIn(const nlohmann::ordered_json& config);

// Why scores of two runs are of unlike rows, in a line for each reason; none where they are not, as far as
// their records know.
std::vector<std::string> UnlikeRowsWords(const std::filesystem::path& run,
                                         const std::filesystem::path& other);

}  // namespace medley
