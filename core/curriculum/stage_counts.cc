#include <medley/curriculum/stage_counts.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include <medley/base/json_count.h>

namespace medley {
namespace {

using nlohmann::json;

double Finite(const json& value, const char* name) {
  if (!value.is_number()) throw std::out_of_range(std::string(name) + " is " + value.dump());
  return value.get<double>();
}

}  // namespace

void StageCounts::AddStep(const std::map<std::string, std::int64_t>& rows,
                          const std::map<std::string, double>& losses) {
  ++steps_;
  for (const auto& [task, count] : rows) rows_[task] += count;
  for (const auto& [task, loss] : losses) {
    Smoothed& smoothed = losses_[task];
    ++smoothed.steps;
    smoothed.loss += (loss - smoothed.loss) / static_cast<double>(std::min(smoothed.steps, kLossWindow));
  }
}

void StageCounts::AddScore(const std::string& task, double score) {
  std::vector<double>& scores = scores_[task];
  if (!std::isfinite(score)) return scores.clear();
  scores.push_back(score);
  if (std::ssize(scores) > kMostEvaluations) scores.erase(scores.begin());
}

std::int64_t StageCounts::rows(const std::string& task) const {
  std::int64_t sum = 0;
  for (const auto& [name, rows] : rows_) sum += task.empty() || name == task ? rows : 0;
  return sum;
}

StageCounts::Smoothed StageCounts::loss(const std::string& task) const {
  const auto found = losses_.find(task);
  return found == losses_.end() ? Smoothed() : found->second;
}

std::vector<double> StageCounts::scores(const std::string& task) const {
  const auto found = scores_.find(task);
  return found == scores_.end() ? std::vector<double>() : found->second;
}

json StageCounts::Save() const {
  json losses = json::object();
  for (const auto& [task, smoothed] : losses_)
    losses[task] = {{"loss", smoothed.loss}, {"steps", smoothed.steps}};
  return {{"steps", steps_}, {"rows", rows_}, {"losses", std::move(losses)}, {"scores", scores_}};
}

StageCounts StageCounts::Load(const json& saved) {
  StageCounts counts;
  counts.steps_ = CountOf(saved, "steps");
  for (const auto& [task, rows] : saved.at("rows").items())
    counts.rows_[task] = CheckedCount(rows, "rows of " + task);
  for (const auto& [task, loss] : saved.at("losses").items())
    counts.losses_[task] = {.loss = Finite(loss.at("loss"), "loss"), .steps = CountOf(loss, "steps")};
  for (const auto& [task, scores] : saved.at("scores").items()) {
    for (const json& score : scores) counts.AddScore(task, Finite(score, "score"));
  }
  return counts;
}

}  // namespace medley
