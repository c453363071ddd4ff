#include <medley/eval/score_range.h>

#include <algorithm>
#include <cmath>
#include <string>

#include <medley/base/error.h>
#include <medley/report/statistics.h>
#include <medley/report/table.h>

namespace medley {
namespace {

constexpr double kRounding = 1e-6;  // of the end, or of 1

[[noreturn]] void Refuse(const LoadedTask& task, std::int64_t row, double value, const std::string& expected,
                         const char* field) {
  throw Error("task '" + task.info().name + "' of " + task.plugin() + ": the score of row " +
              std::to_string(row) + " is " + FormatNumber(value) + ", and the spec declares " +
              task.info().score.name + " to be " + expected + " (ScoreSpec::" + field + ")");
}

}  // namespace

std::optional<ScoreRange> RangeOf(const ScoreInfo& score) {
  if (!score.low && !score.high) return RangeOfScore(score.higher_is_better, score.chance);
  const ScoreRange endless;
  return ScoreRange{.low = score.low.value_or(endless.low), .high = score.high.value_or(endless.high)};
}

void KeepToRange(const LoadedTask& task, const RowRange& rows, std::vector<double>& scores) {
  const ScoreInfo& score = task.info().score;
  const auto is_rounding = [](double off, double end) {
    return off <= kRounding * std::max(1.0, std::abs(end));
  };
  std::int64_t row = rows.begin;
  for (double& value : scores) {
    if (score.low && value < *score.low) {
      if (!is_rounding(*score.low - value, *score.low))
        Refuse(task, row, value, "at least " + FormatNumber(*score.low), "low");
      value = *score.low;
    }
    if (score.high && value > *score.high) {
      if (!is_rounding(value - *score.high, *score.high))
        Refuse(task, row, value, "at most " + FormatNumber(*score.high), "high");
      value = *score.high;
    }
    ++row;
  }
}

}  // namespace medley
