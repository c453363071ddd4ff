// How often an interval of 95 % holds what it is of: 1,000 evaluations of each seed for each kind of score,
// and sums over all that can happen where that is possible.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include <medley/report/statistics.h>

namespace medley {
namespace {

constexpr int kEvaluations = 1000, kSeeds = 3;
constexpr ScoreRange kShareRange{.low = 0, .high = 1}, kAmountRange{.low = 0};

// What n rows or items must keep to: 95 % as far as so few tell.
struct Bounds {
  double least, most;
};
Bounds BoundsOf(std::size_t n) { return n < 512 ? Bounds{0.92, 0.98} : Bounds{0.93, 0.97}; }

class Simulation : public ::testing::TestWithParam<std::size_t> {
 protected:
  double Uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  double Normal() { return normal_(random_); }
  double Answer(double share) { return Uniform() < share ? 1 : 0; }
  // Of five questions.
  double Fifths(double share) {
    double right = 0;
    for (int question = 0; question < 5; ++question) right += Answer(share);
    return right / 5;
  }

  void Expect(const char* what, double truth, const std::function<Interval()>& evaluate) {
    constexpr int kAll = kSeeds * kEvaluations;
    // What so many evaluations of a kind that lies at the bound find is off by more once in 700 times.
    const auto noise = [](double bound) { return 3 * std::sqrt(bound * (1 - bound) / kAll); };
    int held = 0;
    for (int evaluation = 0; evaluation < kAll; ++evaluation) {
      if (evaluation % kEvaluations == 0) {
        random_.seed(1 + static_cast<std::uint64_t>(evaluation / kEvaluations));
        normal_.reset();
      }
      const Interval interval = evaluate();
      held += interval.low <= truth && truth <= interval.high ? 1 : 0;
    }
    const double coverage = held / static_cast<double>(kAll);
    const auto [least, most] = BoundsOf(GetParam());
    EXPECT_GE(coverage, least - noise(least)) << what << ", truth " << truth;
    EXPECT_LE(coverage, most + noise(most)) << what << ", truth " << truth;
  }
  void ExpectMean(const char* what, double truth, const std::optional<ScoreRange>& range,
                  const std::function<double()>& row) {
    Expect(what, truth, [&] {
      std::vector<double> rows(GetParam());
      for (double& value : rows) value = row();
      return MeanInterval(rows, range);
    });
  }
  void ExpectPairs(const char* what, double truth, const std::optional<ScoreRange>& range,
                   const std::function<std::pair<double, double>()>& pair) {
    Expect(what, truth, [&] {
      std::vector<double> a(GetParam()), b(GetParam());
      for (std::size_t row = 0; row < a.size(); ++row) std::tie(a[row], b[row]) = pair();
      return PairedInterval(a, b, range);
    });
  }
  // `rows` of as many items as the parameter says, each drawn once and shown again and again; `row` is what
  // one look at it gives.
  void ExpectSplit(const char* what, std::size_t rows, double truth, const std::optional<ScoreRange>& range,
                   const std::function<double()>& item, const std::function<double(double)>& row) {
    Expect(what, truth, [&] {
      std::vector<double> drawn(GetParam()), scores;
      for (double& value : drawn) value = item();
      RowItems items;
      for (std::size_t i = 0; i < rows; ++i) {
        scores.push_back(row(drawn[i % drawn.size()]));
        items.push_back(static_cast<std::int64_t>(i % drawn.size()));
      }
      return MeanInterval(scores, range, items);
    });
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

TEST_P(Simulation, SharesAreHeld) {
  for (const double share : {0.02, 0.05, 0.1, 0.3, 0.5, 0.8, 0.95, 0.98})
    ExpectMean("a share", share, kShareRange, [&] { return Answer(share); });
}

TEST_P(Simulation, MeansAreHeld) {
  ExpectMean("uniform", 0.5, kShareRange, [&] { return Uniform(); });
  ExpectMean("far from the end", 0.2, kShareRange, [&] { return std::pow(Uniform(), 4); });
  ExpectMean("small and narrow", 0.01, kShareRange, [&] { return 0.01 + 0.002 * Normal(); });
  for (const double share : {0.5, 0.9, 0.98})
    ExpectMean("fifths", share, kShareRange, [&] { return Fifths(share); });
  ExpectMean("from -1 to 1", 0, ScoreRange{-1, 1}, [&] { return 2 * Uniform() - 1; });
  ExpectMean("waiting times", 1, kAmountRange, [&] { return -std::log(1 - Uniform()); });
  ExpectMean("of either sign", -3, ScoreRange(), [&] { return Normal() - 3; });
}

TEST_P(Simulation, PairedDifferencesAreHeld) {
  for (const auto& [a, b] :
       {std::pair{0.02, 0.1}, {0.02, 0.04}, {0.5, 0.5}, {0.7, 0.6}, {0.95, 0.9}, {0.98, 0.94}}) {
    ExpectPairs("answers", a - b, kShareRange, [&, a = a, b = b] { return std::pair(Answer(a), Answer(b)); });
  }
  // Six rows in ten are as hard for the one as for the other. Where hardly a pair differs, coverage is
  // higher: see OfPairsThatHardlyDifferMustBeWide.
  for (const auto& [a, b] : {std::pair{0.05, 0.15}, {0.5, 0.5}, {0.7, 0.6}, {0.95, 0.85}}) {
    ExpectPairs("answers to the same", a - b, kShareRange, [&, a = a, b = b] {
      const double row = Uniform(), other = Uniform() < 0.6 ? row : Uniform();
      return std::pair(row < a ? 1.0 : 0.0, other < b ? 1.0 : 0.0);
    });
  }
  ExpectPairs("errors", 0.1, kAmountRange, [&] {
    const double row = -std::log(1 - Uniform());
    return std::pair(row + 0.1 + 0.1 * Uniform(), row + 0.1 * Uniform());
  });
  ExpectPairs("fifths", 0.1, kShareRange, [&] { return std::pair(Fifths(0.8), Fifths(0.7)); });
}

// Of finite data, shown more than twice; as rows that tell apart nothing they would be held half as often.
TEST_P(Simulation, SplitsThatAreShownAgainAreHeld) {
  const std::size_t uneven = 5 * GetParam() / 2;
  for (const double share : {0.02, 0.3, 0.8, 0.98}) {
    ExpectSplit(
        "answers", uneven, share, kShareRange, [&] { return Answer(share); }, [](double x) { return x; });
  }
  ExpectSplit(
      "answers that change", uneven, 0.6, kShareRange, [&] { return 0.2 + 0.8 * Uniform(); },
      [&](double x) { return Answer(x); });
  ExpectSplit(
      "errors", uneven, 1, kAmountRange, [&] { return -std::log(1 - Uniform()); },
      [&](double x) { return x * (0.5 + Uniform()); });
}

INSTANTIATE_TEST_SUITE_P(Coverage, Simulation, ::testing::Values(64, 512),
                         [](const auto& info) { return "n" + std::to_string(info.param); });

// Over all numbers of right answers.
double ExactCoverage(int n, double share) {
  double held = 0;
  for (int right = 0; right <= n; ++right) {
    const Interval interval = WilsonInterval(right, n);
    if (share < interval.low || share > interval.high) continue;
    held += std::exp(std::lgamma(n + 1.0) - std::lgamma(right + 1.0) - std::lgamma(n - right + 1.0) +
                     right * std::log(share) + (n - right) * std::log1p(-share));
  }
  return held;
}

// Coverage falls where an interval ends, so its least values lie beside the ends. Plain Wilson intervals hold
// a share of 0.17 / n 84 times in a hundred.
TEST(Coverage, OfSharesIsNowhereTooLow) {
  for (const int n : {5, 20, 64, 512}) {
    for (int right = 0; right <= n; ++right) {
      const Interval interval = WilsonInterval(right, n);
      for (const double share : {interval.low * (1 - 1e-9), interval.high * (1 + 1e-9)}) {
        if (share <= 0 || share >= 1) continue;
        const double coverage = ExactCoverage(n, share);
        EXPECT_GE(coverage, 0.91) << n << " rows, share " << share;
        if (n < 64 || share < 0.02 || share > 0.98) continue;
        EXPECT_GE(coverage, BoundsOf(static_cast<std::size_t>(n)).least) << n << " rows, share " << share;
      }
    }
  }
}

TEST(Coverage, OfSharesIsNoLargerThanItNeedBe) {
  for (const int n : {64, 512}) {
    for (double share = 0.02; share <= 0.98; share += 0.002)
      EXPECT_LE(ExactCoverage(n, share), BoundsOf(static_cast<std::size_t>(n)).most)
          << n << " rows, share " << share;
  }
}

// Over all ways in which n pairs can be more, less or the same.
double ExactPairedCoverage(int n, double more, double less) {
  double held = 0;
  for (int a = 0; a <= n; ++a) {
    for (int b = 0; a + b <= n; ++b) {
      const double chance = std::exp(std::lgamma(n + 1.0) - std::lgamma(a + 1.0) - std::lgamma(b + 1.0) -
                                     std::lgamma(n - a - b + 1.0) + a * std::log(more) + b * std::log(less) +
                                     (n - a - b) * std::log1p(-more - less));
      if (chance < 1e-9) continue;
      const Interval interval = TangoInterval(a, b, n);
      if (interval.low <= more - less && more - less <= interval.high) held += chance;
    }
  }
  return held;
}

TEST(Coverage, OfPairsIsNowhereTooLow) {
  for (const auto& [more, less] :
       {std::pair{0.02, 0.002}, {0.015, 0.005}, {0.04, 0.02}, {0.09, 0.02}, {0.3, 0.1}, {0.5, 0.3}})
    EXPECT_GE(ExactPairedCoverage(64, more, less), 0.93) << more << " " << less;
}

// That at least so many of n pairs differ, all of them to the same side, where neither side is likelier.
double AllToOneSide(int n, double differing, int at_least) {
  double chance = 0;
  for (int m = at_least; m <= n; ++m) {
    chance += std::exp(std::lgamma(n + 1.0) - std::lgamma(m + 1.0) - std::lgamma(n - m + 1.0) +
                       m * std::log(differing / 2) + (n - m) * std::log1p(-differing));
  }
  return 2 * chance;
}

// Whether two runs that are the same are told apart is decided by whole pairs. An interval may leave 0 out
// once three pairs differ, all to one side: then it holds a difference of 0 less than 92 times in a hundred
// where some 4 of 64 pairs differ. Or not before the fourth: then it holds 0 more than 99 times where one
// differs. No interval can do better than the one or the other; Tango's errs on the wide side.
TEST(Coverage, OfPairsThatHardlyDifferMustBeWide) {
  EXPECT_LT(1 - AllToOneSide(64, 3.6 / 64, 3), BoundsOf(64).least);
  EXPECT_GT(1 - AllToOneSide(64, 0.02, 4), BoundsOf(64).most);
  EXPECT_LE(TangoInterval(3, 0, 64).low, 0);
  EXPECT_GT(TangoInterval(4, 0, 64).low, 0);
  for (const double each : {0.002, 0.005, 0.01})
    EXPECT_GT(ExactPairedCoverage(64, each, each), BoundsOf(64).most) << each;
  for (const double each : {0.02, 0.03, 0.05, 0.1})
    EXPECT_LE(ExactPairedCoverage(64, each, each), BoundsOf(64).most) << each;
}

}  // namespace
}  // namespace medley
