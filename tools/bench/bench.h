#pragma once

// What all benches share.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <medley/plan/plan_in_force.h>
#include <medley/run/run.h>

namespace medley::bench {

// Of the run's named tasks, as long as nothing was planned.
inline PlanInForce ConfiguredPlan(const Run& run) {
  std::map<std::string, Execution> executions;
  for (const std::string& task : run.NamedTasks()) executions[task] = run.Configured(task);
  return PlanInForce(std::move(executions));
}

// Of an even number the upper one of the two in the middle. Needs a value.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace medley::bench
