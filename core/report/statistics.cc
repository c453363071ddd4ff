#include <medley/report/statistics.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <medley/base/error.h>

namespace medley {
namespace {

constexpr double kZ95 = 1.959963984540054;  // the 0.975 quantile of the standard normal distribution

std::vector<double> Numbers(const std::vector<double>& rows) {
  std::vector<double> numbers;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(numbers),
               [](double x) { return !std::isnan(x); });
  return numbers;
}

}  // namespace

double MeanOf(const std::vector<double>& rows) {
  const std::vector<double> numbers = Numbers(rows);
  if (numbers.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

Interval WilsonInterval(double successes, double trials) {
  const double p = successes / trials;
  const double z2 = kZ95 * kZ95;
  const double center = (p + z2 / (2 * trials)) / (1 + z2 / trials);
  const double half = kZ95 / (1 + z2 / trials) * std::sqrt(p * (1 - p) / trials + z2 / (4 * trials * trials));
  // At 0 and 1 the ends are exact; rounding must not push them past the value.
  return {p, std::clamp(center - half, 0.0, p), std::clamp(center + half, p, 1.0)};
}

Interval NormalInterval(const std::vector<double>& rows) {
  const double mean = MeanOf(rows);
  if (rows.size() < 2) return {mean, mean, mean};
  double squares = 0;
  for (const double x : rows) squares += (x - mean) * (x - mean);
  const double n = static_cast<double>(rows.size());
  const double half = kZ95 * std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

Interval PairedInterval(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) throw Error("a paired interval needs the same rows twice");
  std::vector<double> differences;
  for (std::size_t row = 0; row < a.size(); ++row) differences.push_back(a[row] - b[row]);
  const std::vector<double> numbers = Numbers(differences);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (numbers.size() < 2) return {MeanOf(numbers), nan, nan};
  return NormalInterval(numbers);
}

Interval MeanInterval(const std::vector<double>& rows) {
  const std::vector<double> numbers = Numbers(rows);
  if (numbers.empty()) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan};
  }
  if (std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0 || x == 1; })) {
    return WilsonInterval(std::accumulate(numbers.begin(), numbers.end(), 0.0),
                          static_cast<double>(numbers.size()));
  }
  return NormalInterval(numbers);
}

}  // namespace medley
