#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/eval/score_report.h>

namespace medley {

inline constexpr const char* kEvaluationFile = "eval.json";

// What medley eval wrote of a run; null: it did not.
nlohmann::json LastEvaluation(const std::filesystem::path& run);
// Its scores, by task, where it says after which step they came; else none.
const nlohmann::json& ScoresIn(const nlohmann::json& evaluation);

// Takes a task's score of an evaluation after `step`, which `file` has, unless it was scored after a later
// one: then false. An InputError where it cannot be read.
bool TakeScore(const std::filesystem::path& file, std::int64_t step, const std::string& task,
               const nlohmann::json& score, LastScores& last);

// Of the evaluation before the first step, as they are in metrics.jsonl; none where there was none.
std::map<std::string, ScoreRecord> ScoresAtStart(const std::filesystem::path& run);

// Of a run's tasks: those that came while it trained, and of medley eval where it came last. Reads
// metrics.jsonl and eval.json alone; either may be missing. An InputError where one is damaged.
LastScores LastScoresOf(const std::filesystem::path& run);

}  // namespace medley
