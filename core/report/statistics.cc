#include <medley/report/statistics.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include <medley/base/error.h>

namespace medley {
namespace {

constexpr double kZ95 = 1.959963984540054;  // the 0.975 quantile of the standard normal distribution
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> Numbers(const std::vector<double>& rows) {
  std::vector<double> numbers;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(numbers),
               [](double x) { return !std::isnan(x); });
  return numbers;
}

bool AllWithin(const std::vector<double>& numbers, double low, double high) {
  return std::all_of(numbers.begin(), numbers.end(), [&](double x) { return low <= x && x <= high; });
}

bool AllZeroOrOne(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0 || x == 1; });
}

Interval Clamped(const Interval& interval, double low, double high) {
  return {interval.value, std::max(interval.low, low), std::min(interval.high, high)};
}

}  // namespace

Quantity QuantityOfScore(bool higher_is_better, const std::optional<double>& chance) {
  if (!higher_is_better) return Quantity::kAmount;
  return chance && 0 <= *chance && *chance <= 1 ? Quantity::kShare : Quantity::kAny;
}

double MeanOf(const std::vector<double>& rows) {
  const std::vector<double> numbers = Numbers(rows);
  if (numbers.empty()) return kNaN;
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

Interval StudentInterval(const std::vector<double>& rows) {
  const double mean = MeanOf(rows);
  if (rows.size() < 2) return {mean, kNaN, kNaN};
  double squares = 0;
  for (const double x : rows) squares += (x - mean) * (x - mean);
  const double n = static_cast<double>(rows.size());
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.975);
  const double half = t * std::sqrt(squares / (n - 1) / n);
  return {mean, mean - half, mean + half};
}

Interval PairedInterval(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) throw Error("a paired interval needs the same rows twice");
  std::vector<double> differences;
  for (std::size_t row = 0; row < a.size(); ++row) differences.push_back(a[row] - b[row]);
  return StudentInterval(Numbers(differences));
}

Interval MeanInterval(const std::vector<double>& rows, Quantity quantity) {
  const std::vector<double> numbers = Numbers(rows);
  if (numbers.size() < 2) return {MeanOf(numbers), kNaN, kNaN};
  const bool may_be_share = quantity == Quantity::kShare || quantity == Quantity::kUnknown;
  if (may_be_share && AllZeroOrOne(numbers)) {
    return WilsonInterval(std::accumulate(numbers.begin(), numbers.end(), 0.0),
                          static_cast<double>(numbers.size()));
  }
  const Interval interval = StudentInterval(numbers);
  if (quantity == Quantity::kShare && AllWithin(numbers, 0, 1)) return Clamped(interval, 0, 1);
  if (quantity != Quantity::kAny && AllWithin(numbers, 0, kInfinity)) return Clamped(interval, 0, kInfinity);
  return interval;
}

}  // namespace medley
