#include <medley/eval/score_comparison.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <medley/eval/score_report.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// "" where the scores belong to the same rows.
std::string WhyNotComparable(const TaskScore& score, const TaskScore& other) {
  if (score.metric != other.metric)
    return "it is scored by " + score.metric + " here and by " + other.metric + " there";
  if (score.rows_digest != other.rows_digest || score.row_scores.size() != other.row_scores.size())
    return "its rows do not show the same pictures in both runs (another image size, option or build of the "
           "task)";
  return "";
}

ScoreDifference Compare(const TaskScore& score, const TaskScore& other) {
  std::vector<double> differences;  // NaN where a run has no score, which does not count
  for (std::size_t row = 0; row < score.row_scores.size(); ++row)
    differences.push_back(score.row_scores[row] - other.row_scores[row]);
  ScoreDifference compared{
      .metric = score.metric,
      .higher_is_better = score.higher_is_better,
      .value = score.score.value,
      .other = other.score.value,
      .difference = PairedInterval(score.row_scores, other.row_scores, score.range, score.row_items),
      .rows = std::ranges::count_if(differences, [](double x) { return !std::isnan(x); }),
      .items = ItemCount(differences, score.row_items)};
  const Interval& difference = compared.difference;
  if (difference.low > 0 || difference.high < 0) {  // false where an end is NaN
    compared.verdict =
        (difference.low > 0) == score.higher_is_better ? ScoreVerdict::kBetter : ScoreVerdict::kWorse;
  }
  return compared;
}

}  // namespace

Comparison CompareScores(const Scores& scores, const Scores& other) {
  Comparison comparison;
  for (const auto& [task, score] : scores) {
    const auto found = other.find(task);
    const std::string why =
        found == other.end() ? "only this run trains it" : WhyNotComparable(score, found->second);
    if (why.empty()) {
      comparison.tasks[task] = Compare(score, found->second);
    } else {
      comparison.skipped[task] = why;
    }
  }
  for (const auto& [task, score] : other) {
    if (scores.count(task) == 0) comparison.skipped[task] = "only the other run trains it";
  }
  return comparison;
}

ordered_json ComparisonJson(const Comparison& comparison) {
  ordered_json tasks = ordered_json::object();
  for (const auto& [name, task] : comparison.tasks) {
    tasks[name] = {{"metric", task.metric},
                   {"better", DirectionName(task.higher_is_better)},
                   {"value", task.value},
                   {"other", task.other},
                   {"difference", task.difference.value},
                   {"low", task.difference.low},
                   {"high", task.difference.high},
                   {"rows", task.rows},
                   {"items", task.items},
                   {"verdict", EnumName(task.verdict)}};
  }
  return {{"tasks", tasks}, {"skipped", comparison.skipped}};
}

std::string ComparisonTable(const Comparison& comparison) {
  Table table(
      {"task", "score", "this run", "other run", "difference", "95 % interval", "verdict", "better", "rows"},
      2);
  table.Spares({"rows", "better", "other run"});
  for (const auto& [name, task] : comparison.tasks) {
    table.Add({name, task.metric, FormatScore(task.value), FormatScore(task.other),
               FormatScore(task.difference.value), FormatInterval(task.difference), EnumName(task.verdict),
               DirectionName(task.higher_is_better), FormatRows(task.rows, task.items)});
  }
  std::string text = comparison.tasks.empty() ? "" : table.ToText();
  for (const auto& [name, why] : comparison.skipped) text += "not compared: " + name + " (" + why + ")\n";
  return text;
}

}  // namespace medley
