#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace medley {

// One term of one task in a step: a sum over items, never a mean.
struct TermLoss {
  double sum = 0;
  std::int64_t count = 0;
  double weight = 1;

  // Nothing where no row of the draws had an item of this term.
  std::optional<double> mean() const {
    return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
  }
  std::optional<double> weighted() const {
    return weight == 0 ? 0.0 : count > 0 ? std::optional(weight * *mean()) : std::nullopt;
  }
};
using TaskLosses = std::map<std::string, TermLoss>;    // term
using StepLosses = std::map<std::string, TaskLosses>;  // task

// The weighted loss of one task. Nothing where a term had no item: a total without it does not compare with
// those of other steps.
std::optional<double> TotalLoss(const TaskLosses& terms);
// Those of the tasks that have one.
std::map<std::string, double> TotalLosses(const StepLosses& losses);

// What people are shown as a task's loss: the sum of its terms, of each of which recent steps weigh more. A
// step whose rows have no item of a term does not move it.
class SmoothedLosses {
 public:
  void Add(const std::string& task, const std::string& term, double weighted);
  // NaN of a task without any.
  double Of(const std::string& task) const;

 private:
  std::map<std::string, std::map<std::string, double>> losses_;  // by task and term
};

}  // namespace medley
