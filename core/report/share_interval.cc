#include <medley/report/share_interval.h>

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>

namespace medley {
namespace {

constexpr double kZ95 = 1.959963984540054;  // the 0.975 quantile of the standard normal distribution

// Up to so many successes the lower end is that of a Poisson count: more of Wilson's ends lie too high.
double FewSuccesses(double trials) { return trials <= 50 ? 2 : 3; }

double LowerEnd(double wilson, double successes, double trials) {
  constexpr double kRounding = 1e-6;  // of a share times the trials
  if (successes <= kRounding || successes > FewSuccesses(trials) + kRounding) return wilson;
  return std::min(wilson, boost::math::quantile(boost::math::gamma_distribution<>(successes), 0.05) / trials);
}

// How many standard errors the trials lie above a true difference, whose nuisance, the share of `less`, is
// what makes them likeliest.
double TangoScore(double more, double less, double trials, double difference) {
  const double b = (2 * trials - more + less) * difference - more - less;
  const double c = -less * difference * (1 - difference);
  const double share = (std::sqrt(std::max(0.0, b * b - 8 * trials * c)) - b) / (4 * trials);
  const double variance = trials * (2 * share + difference * (1 - difference));
  // Without a trial that differs nothing is off at a difference of 0.
  constexpr double kTiny = 1e-12;
  return (more - less - trials * difference) / std::sqrt(std::max(variance, kTiny));
}

}  // namespace

Interval WilsonInterval(double mean, double trials, double quantile) {
  const double squared = quantile * quantile;
  const double center = (mean + squared / (2 * trials)) / (1 + squared / trials);
  const double half = quantile / (1 + squared / trials) *
                      std::sqrt(mean * (1 - mean) / trials + squared / (4 * trials * trials));
  // At 0 and 1 the ends are exact; rounding must not push them past the value.
  return {mean, std::clamp(center - half, 0.0, mean), std::clamp(center + half, mean, 1.0)};
}

Interval WilsonInterval(double successes, double trials) {
  Interval interval = WilsonInterval(successes / trials, trials, kZ95);
  interval.low = LowerEnd(interval.low, successes, trials);
  interval.high = 1 - LowerEnd(1 - interval.high, trials - successes, trials);
  return interval;
}

Interval TangoInterval(double more, double less, double trials) {
  const double value = (more - less) / trials;
  // The score falls from above the quantile to below it between an end of what there is and the value.
  const auto end = [&](double outer, double score) {
    const auto off = [&](double difference) { return TangoScore(more, less, trials, difference) - score; };
    const double from = std::min(outer, value), to = std::max(outer, value);
    if (off(from) * off(to) >= 0) return outer;
    std::uintmax_t steps = 100;
    const auto [low, high] = boost::math::tools::toms748_solve(
        off, from, to, boost::math::tools::eps_tolerance<double>(40), steps);
    return (low + high) / 2;
  };
  return {value, end(-1, kZ95), end(1, -kZ95)};
}

}  // namespace medley
