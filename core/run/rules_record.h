#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
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

// What decides on which rows a run is scored.
struct ScoredRows {
  nlohmann::ordered_json config;  // resolved
  DataRules rules;
};
// An InputError where the run's config cannot be read.
ScoredRows ScoredRowsOf(const std::filesystem::path& run);

// Where scores of two runs are of unlike rows, as far as their records know.
struct RowsApart {
  bool all = false;                  // in every task
  std::set<std::string> tasks{};     // or in these
  std::vector<std::string> words{};  // of each reason: ": its eval.seed is 1, not 0"

  bool In(const std::string& task) const { return all || tasks.contains(task); }
};
RowsApart CompareRows(const ScoredRows& run, const ScoredRows& other);
// In a line for each reason; none where they are not.
std::vector<std::string> UnlikeRowsWords(const std::filesystem::path& run,
                                         const std::filesystem::path& other);

}  // namespace medley
