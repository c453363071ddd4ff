#include <medley/curriculum/stage_counts.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include <medley/base/json_count.h>

namespace medley {
namespace {

using nlohmann::json;

bool Says(const Condition& leaf, double score) {
  return leaf.at_least ? score >= *leaf.at_least : leaf.at_most && score <= *leaf.at_most;
}

// How many of the newest evaluations say so without a break.
std::int64_t InARow(const Condition& leaf, const StageCounts& counts) {
  const std::vector<double> scores = counts.scores(leaf.score);
  const auto broken =
      std::find_if(scores.rbegin(), scores.rend(), [&](double score) { return !Says(leaf, score); });
  return std::distance(scores.rbegin(), broken);
}

bool LeafHolds(const Condition& leaf, const StageCounts& counts, Measured measured) {
  const bool guessed = measured != Measured::kAsCounted, good = measured == Measured::kAlwaysGood;
  switch (leaf.kind) {
    case Condition::Kind::kSteps:
      return counts.steps() >= leaf.steps;
    case Condition::Kind::kRows:
      return counts.rows(TaskOf(leaf)) >= leaf.rows;
    case Condition::Kind::kLoss: {
      const StageCounts::Smoothed smoothed = counts.loss(leaf.loss);
      if (smoothed.steps < StageCounts::kFewestLosses) return false;
      return guessed ? good : smoothed.loss < leaf.below;
    }
    case Condition::Kind::kScore: {
      if (!guessed) return InARow(leaf, counts) >= leaf.evaluations;
      return good && std::ssize(counts.scores(leaf.score)) >= leaf.evaluations;
    }
    case Condition::Kind::kAll:
    case Condition::Kind::kAny:
      break;
  }
  return false;
}

// Words of the parts that are not gone, with a word between them.
template <typename Say>
std::string Joined(const std::vector<Condition>& parts, const char* between, const Say& say) {
  std::string text;
  for (const Condition& part : parts) {
    std::string words = say(part);
    if (words.empty()) continue;
    const bool nested = part.kind == Condition::Kind::kAll || part.kind == Condition::Kind::kAny;
    if (nested) words = "(" + words + ")";
    text += (text.empty() ? "" : between) + words;
  }
  return text;
}

template <typename Say>
std::string JoinedParts(const Condition& condition, const Say& say) {
  return condition.kind == Condition::Kind::kAll ? Joined(condition.all, " and ", say)
                                                 : Joined(condition.any, " or ", say);
}

std::string Exact(double value) { return json(value).dump(); }

std::string InThreeDigits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string LeafWaitsFor(const Condition& leaf, const StageCounts& counts) {
  switch (leaf.kind) {
    case Condition::Kind::kSteps:
      return "step " + std::to_string(std::min(counts.steps(), leaf.steps)) + " of " +
             std::to_string(leaf.steps);
    case Condition::Kind::kRows:
      return (leaf.of ? *leaf.of + " " : "") +
             std::to_string(std::min(counts.rows(TaskOf(leaf)), leaf.rows)) + " of " +
             std::to_string(leaf.rows) + " rows";
    case Condition::Kind::kLoss: {
      const StageCounts::Smoothed smoothed = counts.loss(leaf.loss);
      return leaf.loss + " loss " + (smoothed.steps == 0 ? "-" : InThreeDigits(smoothed.loss)) + ", below " +
             Exact(leaf.below);
    }
    case Condition::Kind::kScore: {
      const std::vector<double> scores = counts.scores(leaf.score);
      std::string words = leaf.score + " " + (scores.empty() ? "-" : InThreeDigits(scores.back())) + " of " +
                          (leaf.at_least ? "" : "at most ") +
                          Exact(leaf.at_least.value_or(leaf.at_most.value_or(0)));
      if (leaf.evaluations > 1)
        words += " (" + std::to_string(std::min(InARow(leaf, counts), leaf.evaluations)) + " of " +
                 std::to_string(leaf.evaluations) + " evaluations)";
      return words;
    }
    case Condition::Kind::kAll:
    case Condition::Kind::kAny:
      break;
  }
  return "";
}

std::string LeafInWords(const Condition& leaf) {
  switch (leaf.kind) {
    case Condition::Kind::kSteps:
      return std::to_string(leaf.steps) + " steps";
    case Condition::Kind::kRows:
      return std::to_string(leaf.rows) + " rows" + (leaf.of ? " of " + *leaf.of : "");
    case Condition::Kind::kLoss:
      return leaf.loss + "'s loss below " + Exact(leaf.below);
    case Condition::Kind::kScore:
      return leaf.score +
             (leaf.at_least ? " at least " + Exact(*leaf.at_least)
                            : " at most " + Exact(leaf.at_most.value_or(0))) +
             (leaf.evaluations > 1 ? " in " + std::to_string(leaf.evaluations) + " evaluations" : "");
    case Condition::Kind::kAll:
    case Condition::Kind::kAny:
      break;
  }
  return "";
}

bool IsLeaf(const Condition& condition) {
  return condition.kind != Condition::Kind::kAll && condition.kind != Condition::Kind::kAny;
}

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

Verdict Judge(const Condition& condition, const StageCounts& counts, const GoneTasks& gone,
              Measured measured) {
  if (IsLeaf(condition)) {
    if (gone.count(TaskOf(condition)) > 0) return Verdict::kGone;
    return LeafHolds(condition, counts, measured) ? Verdict::kHolds : Verdict::kWaits;
  }
  const bool all = condition.kind == Condition::Kind::kAll;
  std::size_t holds = 0, waits = 0;
  for (const Condition& part : all ? condition.all : condition.any) {
    const Verdict verdict = Judge(part, counts, gone, measured);
    holds += verdict == Verdict::kHolds ? 1 : 0;
    waits += verdict == Verdict::kWaits ? 1 : 0;
  }
  if (holds + waits == 0) return Verdict::kGone;
  return (all ? waits == 0 : holds > 0) ? Verdict::kHolds : Verdict::kWaits;
}

std::string WaitsFor(const Condition& condition, const StageCounts& counts, const GoneTasks& gone) {
  if (!IsLeaf(condition))
    return JoinedParts(condition, [&](const Condition& part) { return WaitsFor(part, counts, gone); });
  return gone.count(TaskOf(condition)) > 0 ? "" : LeafWaitsFor(condition, counts);
}

std::string InWords(const Condition& condition) {
  if (!IsLeaf(condition)) return JoinedParts(condition, InWords);
  return LeafInWords(condition);
}

}  // namespace medley
