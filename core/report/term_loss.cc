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

}  // namespace medley
