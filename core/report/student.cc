#include <medley/report/student.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include <medley/base/error.h>

namespace medley {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

struct Moments {
  double mean = kUndefined;
  double variance_of_mean = kUndefined;
  double degrees = 0;
};

Moments MomentsOf(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  if (values.empty()) return {};
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2) return {.mean = mean};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean, .variance_of_mean = squares / (count - 1) / count, .degrees = count - 1};
}

double LargestOf(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// `scale`: of the values whose rounding may be all the spread that there is.
Interval Around(double mean, double error, double degrees, double confidence, double scale) {
  constexpr double kRounding = 1e-12;
  if (!(error > kRounding * scale)) return {mean, kUndefined, kUndefined};
  const double half = StudentQuantile(degrees, confidence) * error;
  return {mean, mean - half, mean + half};
}

}  // namespace

double StudentQuantile(double degrees, double confidence) {
  return boost::math::quantile(boost::math::students_t(degrees), 1 - (1 - confidence) / 2);
}

Interval StudentInterval(const std::vector<double>& values, double confidence) {
  const Moments of = MomentsOf(values);
  return Around(of.mean, std::sqrt(of.variance_of_mean), of.degrees, confidence, LargestOf(values));
}

Interval PairedStudentInterval(const std::vector<double>& a, const std::vector<double>& b,
                               double confidence) {
  if (a.size() != b.size()) throw Error("a paired interval needs as many values of both");
  std::vector<double> differences(a.size());
  std::transform(a.begin(), a.end(), b.begin(), differences.begin(), std::minus<>());
  const Moments of = MomentsOf(differences);
  return Around(of.mean, std::sqrt(of.variance_of_mean), of.degrees, confidence,
                std::max(LargestOf(a), LargestOf(b)));
}

Interval WelchInterval(const std::vector<double>& a, const std::vector<double>& b, double confidence) {
  const Moments first = MomentsOf(a), second = MomentsOf(b);
  const double mean = first.mean - second.mean;
  const double one = first.variance_of_mean, other = second.variance_of_mean, both = one + other;
  // Welch and Satterthwaite's degrees of freedom.
  const double degrees = both * both / (one * one / first.degrees + other * other / second.degrees);
  return Around(mean, std::sqrt(both), degrees, confidence, std::max(LargestOf(a), LargestOf(b)));
}

}  // namespace medley
