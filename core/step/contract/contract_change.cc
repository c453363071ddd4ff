#include <medley/step/contract/contract_change.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace medley {

std::optional<double> OtherChange(const std::function<double(double step)>& value, double along,
                                  double size) {
  constexpr double kFirst = 1e-7, kSteps[] = {1e-6, 1e-5, 1e-4};
  constexpr double kShare = 1e-4, kAgreement = 0.1, kNothing = 1e-9;
  const double tolerance = kShare * (size + std::abs(along)) + kNothing, here = value(0);
  const auto is_right = [&](double change) {
    const double apart = std::abs(change - along);
    return !std::isfinite(apart) || apart <= tolerance;
  };
  if (is_right((value(kFirst) - here) / kFirst)) return std::nullopt;  // mostly: one value, not two
  std::vector<double> changes, bends;  // how far the slopes above and below are apart
  for (const double step : kSteps) {
    const double above = value(step), below = value(-step);
    changes.push_back((above - below) / (2 * step));
    if (is_right(changes.back())) return std::nullopt;
    bends.push_back((above - 2 * here + below) / step);
  }
  // What curvature adds to a bend grows with the step, tenfold here: so it is taken off.
  if (std::abs(10 * bends[0] - bends[1]) / 9 > tolerance) return std::nullopt;
  // A cast that hides the steps, or a gradient that is passed straight through a step function.
  if (std::all_of(changes.begin(), changes.end(), [](double change) { return change == 0; }))
    return std::nullopt;
  const double apart = std::abs(changes[0] - along);
  const bool agree = std::all_of(changes.begin(), changes.end(), [&](double change) {
    return std::abs(change - changes[0]) <= kAgreement * apart;
  });
  return agree ? std::optional(changes[0]) : std::nullopt;
}

}  // namespace medley
