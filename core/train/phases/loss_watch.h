#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace medley {

// The training losses of each task: their mean and deviation, of decay 0.99. A mixed stream has no common
// ones.
class LossWatch {
 public:
  static constexpr double kDecay = 0.99;
  static constexpr double kDeviations = 3;
  // A task's draws before its losses are judged.
  static constexpr std::int64_t kLeastDraws = 20;

  using Losses = std::map<std::string, double>;  // by task, of one step

  void Add(const Losses& losses);
  // Which task's loss is further above its mean than it should be, or not finite, in words; "" where none is.
  std::string Beyond(const Losses& losses) const;

  // From here on the fall of the means is counted.
  void Mark();
  // By how much the mean loss of these tasks, each with its share, fell since then; those that had no loss
  // then do not count.
  double FallSinceMark(const std::map<std::string, double>& shares) const;

  nlohmann::json Save() const;
  void Load(const nlohmann::json& state);  // throws what JSON and counts throw

 private:
  struct Watched {
    std::int64_t draws = 0;
    double mean = 0, variance = 0;
    double marked = 0;  // the mean then
    bool is_marked = false;
  };
  std::map<std::string, Watched> tasks_;
};

}  // namespace medley
