#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace medley {

// What happened since a stage began: all that its condition is judged by.
class StageCounts {
 public:
  // Adds one step, by task.
  void AddStep(const std::map<std::string, std::int64_t>& rows, const std::map<std::string, double>& losses);
  // Adds one evaluation. One that is no number ends the row of evaluations that held.
  void AddScore(const std::string& task, double score);

  std::int64_t steps() const { return steps_; }
  // Rows of a task, or of all where it is "".
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
  static constexpr std::int64_t kMostEvaluations = 100;
  std::vector<double> scores(const std::string& task) const;

  nlohmann::json Save() const;
  // Throws what JSON or counts throw for what Save cannot have written.
  static StageCounts Load(const nlohmann::json& saved);

 private:
  std::int64_t steps_ = 0;
  std::map<std::string, std::int64_t> rows_;
  std::map<std::string, Smoothed> losses_;
  std::map<std::string, std::vector<double>> scores_;
};

}  // namespace medley
