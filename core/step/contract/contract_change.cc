#include <medley/step/contract/contract_change.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace medley {

std::optional<double> OtherChange(const std::function<double(double step)>& value, double along,
                                  double size) {
  constexpr double kFirst = 1e-7, kSteps[] = {1e-6, 1e-5, 1e-4};
  constexpr double kShare = 1e-4, kAgreement = 0.1, kNothing = 1e-9;
  const auto is_right = [&](double change) {
    const double apart = std::abs(change - along);
    return !std::isfinite(apart) || apart <= kShare * (size + std::abs(along)) + kNothing;
  };
  if (is_right((value(kFirst) - value(0)) / kFirst)) return std::nullopt;  // mostly: one value, not two
  std::vector<double> changes;
  for (const double step : kSteps) {
    changes.push_back((value(step) - value(-step)) / (2 * step));
    if (is_right(changes.back())) return std::nullopt;
  }
  const double apart = std::abs(changes[0] - along);
  const bool agree = std::all_of(changes.begin(), changes.end(), [&](double change) {
    return std::abs(change - changes[0]) <= kAgreement * apart;
  });
  return agree ? std::optional(changes[0]) : std::nullopt;
}

}  // namespace medley
