#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <medley/config/field.h>
#include <medley/eval/score.h>
#include <medley/report/statistics.h>

namespace medley {

enum class ScoreVerdict { kBetter, kWorse, kNoDifference };
template <>
struct EnumNames<ScoreVerdict> {
  static constexpr std::array<std::string_view, 3> kNames = {"better", "worse", "no difference"};
};

// One task of two runs, scored on the same rows.
struct ScoreDifference {
  std::string metric;
  bool higher_is_better = true;
  double value = 0;        // this run's
  double other = 0;        // the other run's
  Interval difference;     // this less the other, item by item; see PairedInterval
  std::int64_t rows = 0;   // that have a score in both
  std::int64_t items = 0;  // that these rows show, see ScoreRecord
  ScoreVerdict verdict =
      ScoreVerdict::kNoDifference;  // of this run: a difference counts where its interval is clear of 0
};

// Two runs, task by task.
struct Comparison {
  std::map<std::string, ScoreDifference> tasks;
  std::map<std::string, std::string> skipped;  // task: why it cannot be compared
};

// Tasks that only one of them has, and those whose rows do not show the same pictures, are skipped.
Comparison CompareScores(const Scores& scores, const Scores& other);

// {"tasks": {name: {metric, better, value, other, difference, low, high, rows, items, verdict}}, "skipped":
// {name: why}}
nlohmann::ordered_json ComparisonJson(const Comparison& comparison);
// The same for people.
std::string ComparisonTable(const Comparison& comparison);

}  // namespace medley
