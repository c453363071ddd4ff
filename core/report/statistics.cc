#include <medley/report/statistics.h>

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>

#include <medley/base/error.h>
#include <medley/report/student.h>

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

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The rows that count.
struct Sample {
  std::vector<double> rows;
  RowItems items;  // as many
};

Sample Counted(const std::vector<double>& rows, const RowItems& items) {
  if (!items.empty() && items.size() != rows.size()) throw Error("an interval needs the item of every row");
  Sample sample;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (std::isnan(rows[row])) continue;
    sample.rows.push_back(rows[row]);
    sample.items.push_back(items.empty() ? static_cast<std::int64_t>(row) : items[row]);
  }
  return sample;
}

struct Item {
  double rows = 0, sum = 0;
  double first = 0;
  bool is_constant = true;
};

std::vector<Item> ItemsOf(const Sample& sample) {
  std::map<std::int64_t, Item> items;
  for (std::size_t row = 0; row < sample.rows.size(); ++row) {
    Item& item = items[sample.items[row]];
    if (item.rows == 0) item.first = sample.rows[row];
    item.is_constant = item.is_constant && item.first == sample.rows[row];
    ++item.rows;
    item.sum += sample.rows[row];
  }
  std::vector<Item> all;
  for (const auto& [number, item] : items) all.push_back(item);
  return all;
}

double RowsIn(const std::vector<Item>& items) {
  return std::accumulate(items.begin(), items.end(), 0.0,
                         [](double rows, const Item& item) { return rows + item.rows; });
}

// As many items of one size would tell as much (Kish).
double EffectiveItems(const std::vector<Item>& items) {
  double squares = 0;
  for (const Item& item : items) squares += item.rows * item.rows;
  const double rows = RowsIn(items);
  return rows * rows / squares;
}

// Of the mean over all rows.
double StandardError(const std::vector<Item>& items, double mean) {
  double squares = 0;
  for (const Item& item : items) {
    const double off = item.sum - item.rows * mean;
    squares += off * off;
  }
  const auto count = static_cast<double>(items.size());
  return std::sqrt(squares * count / (count - 1)) / RowsIn(items);
}

double QuantileOf(const std::vector<Item>& items) {
  return StudentQuantile(static_cast<double>(items.size()) - 1);
}

Interval StudentInterval(const std::vector<Item>& items, double mean, const ScoreRange& range) {
  const double half = QuantileOf(items) * StandardError(items, mean);
  return {mean, std::max(mean - half, range.low), std::min(mean + half, range.high)};
}

// Answers that are right or wrong, whatever the two are called: every row at an end of the range, and an
// item's rows all at the same.
bool AreAnswers(const std::vector<Item>& items, const ScoreRange& range) {
  return std::ranges::all_of(items, [&](const Item& item) {
    return item.is_constant && (item.first == range.low || item.first == range.high);
  });
}

Interval OnScale(const Interval& unit, double mean, const ScoreRange& range) {
  const double width = range.high - range.low;
  return {mean, std::min(range.low + width * unit.low, mean), std::max(range.low + width * unit.high, mean)};
}

Interval AnswersInterval(const std::vector<Item>& items, double mean, const ScoreRange& range) {
  const double share = std::clamp((mean - range.low) / (range.high - range.low), 0.0, 1.0);
  const double trials = EffectiveItems(items);
  return OnScale(WilsonInterval(share * trials, trials), mean, range);
}

// Of a mean of anything between the ends.
Interval RangeInterval(const std::vector<Item>& items, double mean, const ScoreRange& range) {
  const double width = range.high - range.low;
  const double share = (mean - range.low) / width, spread = share * (1 - share);
  if (AreAnswers(items, range) || spread <= 0) return AnswersInterval(items, mean, range);
  const double error = StandardError(items, mean) / width;
  // Items without any spread do not say that there is none: as if one of them lay at an end.
  const auto count = static_cast<double>(items.size());
  const double trials = error > 0 ? spread / (error * error) : count * count;
  return OnScale(WilsonInterval(share, trials, QuantileOf(items)), mean, range);
}

bool IsBounded(const ScoreRange& range) {
  return std::isfinite(range.low) && std::isfinite(range.high) && range.low < range.high;
}

bool AllWithin(const std::vector<double>& rows, const ScoreRange& range) {
  return std::ranges::all_of(rows,
                             [&](double x) { return std::isnan(x) || (range.low <= x && x <= range.high); });
}

// Of the differences of answers, which are -1, 0 and 1 times `width`.
Interval DifferencesInterval(const std::vector<Item>& items, double mean, double width) {
  double more = 0, less = 0;
  for (const Item& item : items) {
    if (item.first > 0) more += item.rows;
    if (item.first < 0) less += item.rows;
  }
  const double trials = EffectiveItems(items), each = trials / RowsIn(items);
  const Interval unit = TangoInterval(more * each, less * each, trials);
  return {mean, std::min(width * unit.low, mean), std::max(width * unit.high, mean)};
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

std::optional<ScoreRange> RangeOfScore(bool higher_is_better, const std::optional<double>& chance) {
  if (!higher_is_better) return ScoreRange{.low = 0};
  if (chance && 0 <= *chance && *chance <= 1) return ScoreRange{.low = 0, .high = 1};
  return std::nullopt;
}

ScoreRange RangeOf(const std::vector<double>& rows, const std::optional<ScoreRange>& said) {
  const auto is_answer = [](double x) { return std::isnan(x) || x == 0 || x == 1; };
  const bool are_answers = !said && std::ranges::all_of(rows, is_answer);
  ScoreRange range = are_answers ? ScoreRange{.low = 0, .high = 1} : said.value_or(ScoreRange());
  if (!AllWithin(rows, {.low = range.low})) range.low = ScoreRange().low;
  if (!AllWithin(rows, {.high = range.high})) range.high = ScoreRange().high;
  return range;
}

double MeanOf(const std::vector<double>& rows) {
  const Sample sample = Counted(rows, {});
  if (sample.rows.empty()) return kNaN;
  return std::accumulate(sample.rows.begin(), sample.rows.end(), 0.0) /
         static_cast<double>(sample.rows.size());
}

double MedianOf(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::int64_t ItemCount(const std::vector<double>& rows, const RowItems& items) {
  return std::ssize(ItemsOf(Counted(rows, items)));
}

Interval MeanInterval(const std::vector<double>& rows, const std::optional<ScoreRange>& said,
                      const RowItems& row_items) {
  const Sample sample = Counted(rows, row_items);
  const std::vector<Item> items = ItemsOf(sample);
  const double mean = MeanOf(sample.rows);
  if (items.size() < 2) return {mean, kNaN, kNaN};
  const ScoreRange range = RangeOf(sample.rows, said);
  if (!IsBounded(range)) return StudentInterval(items, mean, range);
  return RangeInterval(items, mean, range);
}

Interval PairedInterval(const std::vector<double>& a, const std::vector<double>& b,
                        const std::optional<ScoreRange>& said, const RowItems& row_items) {
  if (a.size() != b.size()) throw Error("a paired interval needs the same rows twice");
  std::vector<double> differences, both;
  for (std::size_t row = 0; row < a.size(); ++row) {
    differences.push_back(a[row] - b[row]);
    if (std::isnan(differences.back())) continue;
    both.push_back(a[row]);
    both.push_back(b[row]);
  }
  const Sample sample = Counted(differences, row_items);
  const std::vector<Item> items = ItemsOf(sample);
  const double mean = MeanOf(sample.rows);
  if (items.size() < 2) return {mean, kNaN, kNaN};
  const ScoreRange range = RangeOf(both, said);
  if (!IsBounded(range)) return StudentInterval(items, mean, {});
  const double width = range.high - range.low;
  const bool are_answers =
      std::ranges::all_of(both, [&](double x) { return x == range.low || x == range.high; }) &&
      std::ranges::all_of(items, [](const Item& item) { return item.is_constant; });
  if (are_answers) return DifferencesInterval(items, mean, width);
  return StudentInterval(items, mean, {.low = -width, .high = width});
}

}  // namespace medley
