#include <medley/page/run_verdict.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/line_reader.h>
#include <medley/base/suggest.h>
#include <medley/eval/score_report.h>
#include <medley/page/log_lines.h>
#include <medley/report/metrics.h>
#include <medley/report/score.h>
#include <medley/report/table.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMostNames = 4;

// Of a line that was evaluated. Most were not, and of a long run they are many: only those that may be are
// parsed.
std::map<std::string, LastScore> LastScoresOf(const fs::path& log) {
  std::map<std::string, LastScore> scores;
  if (!fs::exists(log)) return scores;
  LineReader reader(log);
  for (std::string line; reader.Next(line) && reader.whole();) {
    if (line.find("\"eval\"") == std::string::npos) continue;
    const json read = json::parse(line, nullptr, /*allow_exceptions=*/false);
    try {
      for (const auto& [task, score] : At(read, "eval").items())
        scores[task] = {.score = ScoreRecordFrom(score), .step = read.at("step").get<std::int64_t>()};
    } catch (const json::exception& error) {
      throw InputError(DisplayPath(log) + ": an evaluation in it cannot be read: " + error.what());
    }
  }
  return scores;
}

std::string FewOf(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return JoinNames(names);
  return JoinNames({names.begin(), names.begin() + kMostNames}) + " and " +
         std::to_string(names.size() - kMostNames) + " more";
}

RunVerdict VerdictOn(const LastScores& scores) {
  RunVerdict verdict;
  std::vector<std::string> others;
  for (const auto& [task, last] : scores) {
    verdict.step = std::max(verdict.step, last.step);
    const std::optional<bool> clear = IsClear(last.score);
    if (!clear) continue;
    ++verdict.judged;
    *clear ? void(++verdict.clear) : others.push_back(task);
  }
  if (verdict.judged == 0) {
    verdict.words =
        std::to_string(scores.size()) + " tasks were scored; nothing is known of them that needs no learning";
    return verdict;
  }
  verdict.words = ClearWords(scores);
  if (!others.empty() && verdict.clear > 0) verdict.words += " (not: " + FewOf(others) + ")";
  return verdict;
}

double MeanOf(const double* begin, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += begin[i];
  return sum / static_cast<double>(count);
}

// Of single draws losses jump: so it is the mean of a tenth of them.
std::string FallOf(const std::vector<double>& losses) {
  const std::size_t tenth = std::max<std::size_t>(1, losses.size() / 10);
  return FormatNumber(MeanOf(losses.data(), tenth)) + " -> " +
         FormatNumber(MeanOf(losses.data() + losses.size() - tenth, tenth));
}

std::string LossesWords(const fs::path& log) {
  std::map<std::string, std::vector<double>> losses;
  ForEachLine(log, [&](const json& line) {
    for (const auto& [task, terms] : At(line, "terms").items()) {
      double sum = 0;
      for (const auto& [term, loss] : terms.items()) sum += NumberAt(loss, "weighted");
      if (std::isfinite(sum)) losses[task].push_back(sum);
    }
  });
  std::vector<std::string> falls;
  for (const auto& [task, steps] : losses) falls.push_back(task + " " + FallOf(steps));
  return falls.empty()
             ? ""
             : "nothing was scored; loss, from the first tenth of the draws to the last: " + FewOf(falls);
}

}  // namespace

RunVerdict VerdictOf(const fs::path& run) {
  const fs::path log = run / kMetricsLog;
  const std::map<std::string, LastScore> scores = LastScoresOf(log);
  if (!scores.empty()) return VerdictOn(scores);
  return {.words = LossesWords(log)};
}

}  // namespace medley
