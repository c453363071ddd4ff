#include <medley/report/term_loss.h>

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

}  // namespace medley
