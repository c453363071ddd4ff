#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <medley/eval/score.h>

namespace medley {

// {"tasks": {name: as ToJson of a ScoreRecord}}
nlohmann::ordered_json ScoresJson(const Scores& scores);

// The scores of a run's tasks, for people. Every table of scores is made of them.
using LastScores = std::map<std::string, LastScore>;
// All of them of one step.
template <typename Scored>
LastScores ScoresAfter(std::int64_t step, const std::map<std::string, Scored>& scores) {
  LastScores last;
  for (const auto& [task, score] : scores) last[task] = {.score = score, .step = step};
  return last;
}
// A line a task: the score's name, its value and interval, the best that is had without learning, and
// whether it is clear of that; kAll: more, as far as there is room. Below, those that came after
// an earlier step than others.
enum class ScoreColumns { kAnswer, kAll };
std::string ScoresTable(const LastScores& scores, ScoreColumns columns = ScoreColumns::kAll);
// Whether of one of them an evaluation before the first step is known.
bool HasBefore(const LastScores& scores);
// After which the last of them came.
std::int64_t NewestStep(const LastScores& scores);
// A line for each term of text: its held-out loss, perplexity and bits a byte; "" where there are none.
std::string TextLossesTable(const LastScores& scores);
// A line a figure; "" where there are none.
std::string FiguresTable(const LastScores& scores);
// "4 of 6 tasks are clear of chance and of all that needs no learning (not: position_qa, zoom_gold)"; of
// chance only where it is known of one of them. Where no task can be judged, that; "" without a score.
std::string VerdictWords(const LastScores& scores);

// Weighted loss, averaged over tasks; NaN where there is none.
double MeanLoss(const std::map<std::string, ScoreRecord>& scores);
// A row for each example with pictures: input, target, output. Nothing where no example has one.
std::optional<Picture> SheetOf(const TaskScore& score);
// What the examples show, as files by name: sheet-<task>.png for each task with pictures, a row each of
// input, target, output; sheet-<task>.txt for each task with answers, under the numbers of these rows.
std::map<std::string, std::string> SheetFiles(const Scores& scores);

// Words about a task whose score is NaN, with the task's name.
std::string NoScoreWords(const std::string& task, const ScoreRecord& score);

// Three digits, "0.0341"; "-" for what is not finite. A row more or less moves the fourth.
std::string FormatScore(double value);
// "0.0630..0.0910"; "-" where an end is not finite.
std::string FormatInterval(const Interval& interval);
// IsClear: "yes", "no" or "-".
std::string ClearWord(const ScoreRecord& score);
// "512", or "512 of 20 items" where rows show an item again.
std::string FormatRows(std::int64_t rows, std::int64_t items);

}  // namespace medley
