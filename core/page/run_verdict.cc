#include <medley/page/run_verdict.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include <medley/base/suggest.h>
#include <medley/page/last_scores.h>
#include <medley/report/log_lines.h>
#include <medley/report/metrics.h>
#include <medley/report/table.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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
  ForEachLine(log, DamagedLine::kRefused, [&](const json& line) {
    for (const auto& [task, loss] : LossesIn(line)) losses[task].push_back(loss);
  });
  std::vector<std::string> falls;
  for (const auto& [task, steps] : losses) falls.push_back(task + " " + FallOf(steps));
  return falls.empty()
             ? ""
             : "nothing was scored; loss, from the first tenth of the draws to the last: " + JoinFew(falls);
}

}  // namespace

RunVerdict VerdictOn(const LastScores& scores) {
  return {.step = NewestStep(scores), .words = VerdictWords(scores)};
}

RunVerdict VerdictOf(const fs::path& run) {
  const LastScores scores = LastScoresOf(run);
  return scores.empty() ? RunVerdict{.words = LossesWords(run / kMetricsLog)} : VerdictOn(scores);
}

}  // namespace medley
