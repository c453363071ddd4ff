#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <medley/curriculum/condition.h>

namespace medley {

// What happened since a stage began: all that its conditions are judged by.
class StageCounts {
 public:
  // Of one step, by task.
  void AddStep(const std::map<std::string, std::int64_t>& rows, const std::map<std::string, double>& losses);
  // Of one evaluation. One that is no number ends the row of evaluations that held.
  void AddScore(const std::string& task, double score);

  std::int64_t steps() const { return steps_; }
  // Of a task, or of all where it is "".
  std::int64_t rows(const std::string& task) const;
  // A task's losses, smoothed: the mean of the first kLossWindow, then each new one has a weight of
  // 1 / kLossWindow.
  struct Smoothed {
    double loss = 0;
    std::int64_t steps = 0;
  };
  static constexpr std::int64_t kLossWindow = 50, kFewestLosses = 10;
  Smoothed loss(const std::string& task) const;
  // The last kMostEvaluations, oldest first.
  std::vector<double> scores(const std::string& task) const;

  nlohmann::json Save() const;
  // Error for what Save cannot have written.
  static StageCounts Load(const nlohmann::json& saved);

 private:
  std::int64_t steps_ = 0;
  std::map<std::string, std::int64_t> rows_;
  std::map<std::string, Smoothed> losses_;
  std::map<std::string, std::vector<double>> scores_;
};

// kGone: it was about tasks that the run dropped.
enum class Verdict { kWaits, kHolds, kGone };
using GoneTasks = std::map<std::string, std::string>;  // the reason, by task
// What losses and scores are taken to say; the last two for asking how long a stage may be.
enum class Measured { kAsCounted, kAlwaysGood, kNeverGood };
Verdict Judge(const Condition& condition, const StageCounts& counts, const GoneTasks& gone = {},
              Measured measured = Measured::kAsCounted);

// How far it is, for a status line: "gold_direction_qa 0.62 of 0.8 or step 120 of 3000".
std::string WaitsFor(const Condition& condition, const StageCounts& counts, const GoneTasks& gone);
// "gold_direction_qa scores at least 0.8 in 2 evaluations or after 3000 steps"
std::string InWords(const Condition& condition);

}  // namespace medley
