#include <medley/runs/run_summary.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/line_reader.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/page/last_scores.h>
#include <medley/page/planned_end.h>
#include <medley/report/log_lines.h>
#include <medley/report/metrics.h>
#include <medley/report/score.h>
#include <medley/runs/first_weights.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void AddScores(const json& scores, std::int64_t step, RunFacts& facts) {
  for (const auto& [task, json] : scores.items()) {
    const ScoreRecord score = ScoreRecordFrom(json);
    ScoreCourse& course = facts.scores[task];
    course.metric = score.metric;
    course.higher_is_better = score.higher_is_better;
    course.Add(score.score.value, step);
  }
}

void AddDamage(const std::string& words, RunFacts& facts) {
  if (facts.damage.find(words) == std::string::npos)
    facts.damage += (facts.damage.empty() ? "" : "; ") + words;
}

// The evaluations, and the step of the last whole line: the others are not parsed.
void ReadMetrics(const fs::path& log, RunFacts& facts) {
  if (!fs::exists(log)) return;
  LineReader reader(log, kLongestLogLine);
  std::string last;
  for (std::string line; reader.Next(line) && reader.whole(); std::swap(last, line)) {
    if (!line.starts_with('{') || !line.ends_with('}'))
      AddDamage(DisplayPath(log) + " has lines that are no steps", facts);
    if (line.find("\"eval\"") == std::string::npos) continue;
    const LogLine read = ReadLogLine(line);
    if (const json& scores = At(read.json, "eval"); read.step >= 0 && scores.is_object())
      AddScores(scores, read.step, facts);
  }
  facts.step = std::max<std::int64_t>(0, ReadLogLine(last).step);
}

// medley eval's, where it came last.
void ReadEvaluation(const fs::path& run, RunFacts& facts) {
  const json evaluation = LastEvaluation(run);
  json later = ScoresIn(evaluation);
  const auto step = later.empty() ? 0 : evaluation["step"].get<std::int64_t>();
  for (const auto& [task, course] : facts.scores) {
    if (course.last_step > step) later.erase(task);
  }
  AddScores(later, step, facts);
}

void Read(const fs::path& run, RunFacts& facts) {
  const json record = ReadRunRecord(run, facts.problem);
  facts.ended = NewestEnd(record);
  if (const json& starts = ListAt(record, "starts"); !starts.empty())
    facts.began = starts.front().value("time", "");
  const fs::path file = NewestConfig(run);
  const auto config = ReadJson(ReadFile(file), DisplayPath(file));
  nlohmann::ordered_json compared = config;
  NameFirstWeights(run, compared);
  facts.config = ConfigValuesOf(compared);
  ReadMetrics(run / kMetricsLog, facts);
  ForEachLine(
      run / kTimingLog, DamagedLine::kPassedOver,
      [&](const json& line) {
        if (const double seconds = NumberAt(line, "seconds"); seconds > 0 && !line.contains(kTransition))
          facts.seconds += seconds;
      },
      "\"seconds\"");
  json end = PlannedEnd(run, config);
  if (EndOfRun(facts.ended) == RunEnd::kEnded && facts.ended["step"] >= facts.step) end = facts.ended["step"];
  if (end.is_number_integer()) facts.ends = end.get<std::int64_t>();
  if (facts.ended.is_null() && facts.ends && facts.step >= *facts.ends)  // an older medley did not note it
    facts.ended = {{"step", facts.step}, {"why", "all its steps are done"}};
}

json Finite(double value) { return std::isfinite(value) ? json(value) : json(); }

}  // namespace

void ScoreCourse::Add(double value, std::int64_t step) {
  if (std::isnan(value)) return;
  last = value;
  last_step = step;
  if (!std::isnan(best) && (higher_is_better ? value <= best : value >= best)) return;
  best = value;
  best_step = step;
}

double ScoreCourse::Rank() const {
  if (std::isnan(best)) return std::numeric_limits<double>::infinity();
  return higher_is_better ? -best : best;
}

RunFacts ReadRunFacts(const fs::path& run) {
  RunFacts facts;
  try {
    Read(run, facts);
  } catch (const std::exception& error) {  // also what the file system and JSON throw
    facts.problem = error.what();
  }
  try {
    ReadEvaluation(run, facts);
  } catch (const std::exception& error) {
    AddDamage(error.what(), facts);
  }
  return facts;
}

json ToJson(const RunFacts& facts) {
  json scores = json::object();
  for (const auto& [task, course] : facts.scores) {
    scores[task] = {course.metric,    course.higher_is_better, Finite(course.best),
                    course.best_step, Finite(course.last),     course.last_step};
  }
  return {
      {"problem", facts.problem}, {"damage", facts.damage}, {"ended", facts.ended},
      {"began", facts.began},     {"step", facts.step},     {"ends", facts.ends ? json(*facts.ends) : json()},
      {"seconds", facts.seconds}, {"scores", scores},       {"config", facts.config}};
}

RunFacts RunFactsFrom(const json& json) {
  RunFacts facts{.problem = json.at("problem"),
                 .damage = json.at("damage"),
                 .ended = json.at("ended"),
                 .began = json.at("began"),
                 .step = json.at("step"),
                 .seconds = json.at("seconds"),
                 .config = json.at("config")};
  if (!json.at("ends").is_null()) facts.ends = json.at("ends").get<std::int64_t>();
  const auto number = [](const nlohmann::json& value) {
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  };
  for (const auto& [task, course] : json.at("scores").items())
    facts.scores[task] = {.metric = course.at(0),
                          .higher_is_better = course.at(1),
                          .best = number(course.at(2)),
                          .last = number(course.at(4)),
                          .best_step = course.at(3),
                          .last_step = course.at(5)};
  return facts;
}

RunSummary Summarized(const fs::path& run, RunFacts facts) {
  RunSummary summary{.path = run, .state = StateOf(run, facts.ended), .facts = std::move(facts)};
  if (!summary.facts.problem.empty() && summary.state.status != RunStatus::kTraining)
    summary.state = {.why = summary.facts.problem};
  if (const std::string& damage = summary.facts.damage; !damage.empty())
    summary.state.why += (summary.state.why.empty() ? "" : "; ") + damage;
  return summary;
}

}  // namespace medley
