#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/eval/score.h>

namespace medley {

// {"tasks": {name: as ToJson of a ScoreRecord}}
nlohmann::ordered_json ScoresJson(const Scores& scores);
// The same for people; a figure has a line of its own.
std::string ScoresTable(const Scores& scores);
// Of a run, by task, a line each: beside the best that is had without learning.
std::string LastScoresTable(const std::map<std::string, LastScore>& scores);
// What a person wants to know of them while the run goes on: name, value, direction, chance.
std::string LiveScoresTable(const std::map<std::string, ScoreRecord>& scores);
// Weighted loss, averaged over tasks; NaN where there is none.
double MeanLoss(const std::map<std::string, ScoreRecord>& scores);
// A row for each example with pictures: input, target, output. Nothing where no example has one.
std::optional<Picture> SheetOf(const TaskScore& score);
// What the examples show: sheet-<task>.png for each task with pictures, a row each of input, target, output;
// sheet-<task>.txt for each task with answers, under the numbers of these rows. Returns the files.
std::vector<std::filesystem::path> WriteSheets(const Scores& scores, const std::filesystem::path& directory);

// Words about a task whose score is NaN, with the task's name.
std::string NoScoreWords(const std::string& task, const ScoreRecord& score);

// "0.063 .. 0.091"
std::string FormatInterval(const Interval& interval);
// "512", or "512 of 20 items" where rows show an item again.
std::string FormatRows(std::int64_t rows, std::int64_t items);

}  // namespace medley
