#include <medley/page/run_logs.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/report/log_lines.h>
#include <medley/report/metrics.h>
#include <medley/report/statistics.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kStretches = 120;  // of a panel's curve
constexpr std::size_t kRecent = 100;     // steps

}  // namespace

RunLogs::RunLogs(const fs::path& run) : metrics_(run / kMetricsLog) {
  ForEachLine(metrics_, DamagedLine::kRefused, [&](const json& line) { TakeMetrics(line); });
  ForEachLine(run / kTimingLog, DamagedLine::kRefused, [&](const json& line) { TakeTiming(line); });
}

void RunLogs::PutCurves(ordered_json& page) const {
  ordered_json& losses = page["losses"] = ordered_json::object();
  for (const auto& [task, terms] : terms_) {
    for (const auto& [term, curve] : terms) losses[task][term] = JsonOf(Thinned(curve, kStretches));
  }
  ordered_json& scores = page["scores"] = ordered_json::object();
  for (const auto& [task, points] : scores_) scores[task] = points;
  page["rate"] = JsonOf(Thinned(rate_, kStretches));
  page["norm"] = JsonOf(Thinned(norm_, kStretches));
  page["speed"] = JsonOf(Thinned(speed_, kStretches));
  page["floor"] = JsonOf(Thinned(floor_, kStretches));
  page["peak"] = JsonOf(Thinned(peak_, kStretches));
}

double RunLogs::SecondsOfAStep() const { return MedianOf(step_seconds_); }

double RunLogs::SecondsAfter(std::int64_t step) const { return seconds_ - ValueAt(seconds_so_far_, step); }

void RunLogs::TakeMetrics(const json& line) {
  const auto step = line["step"].get<std::int64_t>();
  if (line.contains(kTransition)) {
    if (const json& jump = At(line, "jump"); jump.is_object()) TakeJump(step, jump);
    return;
  }
  if (step == 0) {
    if (const json& scores = At(line, "eval"); scores.is_object()) TakeScores(metrics_, step, scores);
    return;
  }
  step_ = step;
  for (const auto& [task, terms] : At(line, "terms").items()) {
    for (const auto& [term, loss] : terms.items()) {
      terms_[task][term].push_back({step, NumberAt(loss, "mean")});
      const double weighted = NumberAt(loss, "weighted");
      if (std::isfinite(weighted)) smoothed_.Add(task, term, weighted);
    }
  }
  for (const auto& [task, loss] : LossesIn(line)) last_loss_[task] = loss;
  for (const json& draw : ListAt(line, "draws")) {
    const std::string task = draw.value("task", "");
    drawn_[task] = step;
    rows_[task].push_back({step, total_[task] += NumberAt(draw, "rows")});
    draws_[task].push_back({step, static_cast<double>(draws_[task].size() + 1)});
  }
  rate_.push_back({step, NumberAt(line, "lr")});
  norm_.push_back({step, NumberAt(line, "grad_norm")});
  if (const json& scores = At(line, "eval"); scores.is_object()) TakeScores(metrics_, step, scores);
}

void RunLogs::TakeJump(std::int64_t step, const json& jump) {
  ordered_json one = {{"step", step}};
  for (const char* key : {"direction", "steps", "gain", "standard_error", "row_forwards", "taken", "why"})
    one[key] = At(jump, key);
  for (const char* key : {"steps", "gain", "standard_error"}) one[key] = Rounded(NumberAt(jump, key));
  const bool taken = jump.value("taken", false);
  marks_.push_back({{"step", step},
                    {"kind", "prediction"},
                    {"words", jump.value("direction", "") + ": " +
                                  (taken ? "taken" : "not taken, " + jump.value("why", ""))}});
  jumps_.push_back(std::move(one));
}

void RunLogs::TakeScores(const fs::path& file, std::int64_t step, const json& scores) {
  for (const auto& [task, score] : scores.items()) {
    if (!TakeScore(file, step, task, score, last_scores_)) continue;
    std::vector<ordered_json>& points = scores_[task];
    const ScoreRecord& last = last_scores_[task].score;
    if (!points.empty() && points.back()[0] == step) points.pop_back();
    points.push_back({step});
    for (const double number : {last.score.value, last.score.low, last.score.high, last.loss})
      points.back().push_back(Rounded(number));
  }
}

void RunLogs::TakeTiming(const json& line) {
  const auto step = line["step"].get<std::int64_t>();
  if (line.contains(kTransition)) return TakeTransition(step, line);
  floor_.push_back({step, NumberAt(line, "memory_now")});
  peak_.push_back({step, NumberAt(line, "memory_peak")});
  speed_.push_back({step, NumberAt(line, "rows_per_second")});
  if (const double seconds = NumberAt(line, "seconds"); std::isfinite(seconds)) {
    seconds_ += seconds;
    seconds_so_far_.push_back({step, seconds_});
    step_seconds_.push_back(seconds);
    if (step_seconds_.size() > kRecent) step_seconds_.erase(step_seconds_.begin());
  }
  if (const json& ranks = ListAt(line, "rank_work_ms"); !ranks.empty()) {
    shared_ += 1000 * NumberAt(line, "seconds");
    worked_.resize(std::max(worked_.size(), ranks.size()));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      worked_[rank] += ranks[rank].is_number() ? ranks[rank].get<double>() : 0;
  }
  for (const json& overflow : ListAt(line, "out_of_memory")) {
    const json &task = At(overflow, "task"), &to = At(overflow, "to");
    std::string words = task.is_string() ? task.get<std::string>() : "";
    if (to.is_number_integer())
      words += " goes on with " + std::to_string(to.get<std::int64_t>()) + " rows at once";
    marks_.push_back({{"step", step}, {"kind", "out of memory"}, {"words", words}});
  }
  for (const json& finding : ListAt(line, "guard"))
    marks_.push_back({{"step", step}, {"kind", "memory"}, {"words", finding.value("words", "")}});
}

void RunLogs::TakeTransition(std::int64_t step, const json& line) {
  const json& change = line[kTransition];
  ordered_json one = {
      {"step", step}, {"from", At(change, "from")}, {"to", At(change, "to")}, {"why", At(change, "why")}};
  for (const char* key : {"memory_before", "memory_after", "memory_peak", "memory_held", "weight_copies"})
    one[key] = At(line, key);
  transitions_.push_back(std::move(one));
}

ordered_json RunLogs::WorkOf(std::size_t rank) const {
  if (rank >= worked_.size()) return nullptr;
  return Rounded(worked_[rank] / shared_);
}

ordered_json RunLogs::Phases() const {
  if (transitions_.empty() && jumps_.empty()) return nullptr;
  return {{"transitions", transitions_}, {"jumps", jumps_}};
}

}  // namespace medley
