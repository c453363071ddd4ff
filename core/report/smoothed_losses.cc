#include <medley/report/smoothed_losses.h>

#include <limits>

namespace medley {

void SmoothedLosses::Add(const std::string& task, const std::string& term, double weighted) {
  constexpr double kForget = 0.9;  // how much of the past is kept a step
  const auto [smooth, is_new] = losses_[task].try_emplace(term, weighted);
  if (!is_new) smooth->second = kForget * smooth->second + (1 - kForget) * weighted;
}

double SmoothedLosses::Of(const std::string& task) const {
  const auto terms = losses_.find(task);
  if (terms == losses_.end()) return std::numeric_limits<double>::quiet_NaN();
  double loss = 0;
  for (const auto& [term, smooth] : terms->second) loss += smooth;
  return loss;
}

}  // namespace medley
