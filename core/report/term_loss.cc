#include <medley/report/term_loss.h>

#include <limits>

namespace medley {

std::optional<double> TotalLoss(const TaskLosses& terms) {
  double total = 0;
  for (const auto& [name, term] : terms) {
    const std::optional<double> weighted = term.weighted();
    if (!weighted) return std::nullopt;
    total += *weighted;
  }
  return total;
}

std::map<std::string, double> TotalLosses(const StepLosses& losses) {
  std::map<std::string, double> totals;
  for (const auto& [task, terms] : losses) {
    if (const auto total = TotalLoss(terms)) totals[task] = *total;
  }
  return totals;
}

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
