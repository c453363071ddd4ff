#include <medley/page/last_scores.h>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/report/log_lines.h>
#include <medley/report/metrics.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kLargestEvaluation = std::int64_t{256} << 20;

// Of lines that were evaluated: most were not, and of a long run they are many.
void TakeLogged(const fs::path& log, LastScores& last) {
  const auto take = [&](const json& line) {
    const json& scores = At(line, "eval");
    if (!scores.is_object()) return;
    for (const auto& [task, score] : scores.items())
      TakeScore(log, line["step"].get<std::int64_t>(), task, score, last);
  };
  ForEachLine(log, DamagedLine::kPassedOver, take, "\"eval\"");
}

}  // namespace

bool TakeScore(const fs::path& file, std::int64_t step, const std::string& task, const json& score,
               LastScores& last) {
  const auto before = last.find(task);
  if (before != last.end() && before->second.step > step) return false;
  try {
    LastScore now{.score = ScoreRecordFrom(score), .step = step};
    if (before != last.end() && step > 0)
      now.before = before->second.step == 0 ? before->second.score : before->second.before;
    last[task] = std::move(now);
  } catch (const json::exception& error) {
    throw InputError(DisplayPath(file) + ": the score of " + task + " after step " + std::to_string(step) +
                     " cannot be read: " + error.what());
  }
  return true;
}

json LastEvaluation(const fs::path& run) {
  const fs::path file = run / kEvaluationFile;
  if (!fs::exists(file)) return nullptr;
  return ReadJson<json>(ReadFile(file, kLargestEvaluation), DisplayPath(file));
}

const json& ScoresIn(const json& evaluation) {
  static const json kNone = json::object();
  const json& scores = At(evaluation, "tasks");
  return At(evaluation, "step").is_number_integer() && scores.is_object() ? scores : kNone;
}

std::map<std::string, ScoreRecord> ScoresAtStart(const fs::path& run) {
  LastScores logged;
  TakeLogged(run / kMetricsLog, logged);
  std::map<std::string, ScoreRecord> scores;
  for (const auto& [task, last] : logged) {
    if (last.step == 0) scores[task] = last.score;
    if (last.before) scores[task] = *last.before;
  }
  return scores;
}

LastScores LastScoresOf(const fs::path& run) {
  LastScores last;
  TakeLogged(run / kMetricsLog, last);
  const json evaluation = LastEvaluation(run);
  for (const auto& [task, score] : ScoresIn(evaluation).items())
    TakeScore(run / kEvaluationFile, evaluation["step"].get<std::int64_t>(), task, score, last);
  return last;
}

}  // namespace medley
