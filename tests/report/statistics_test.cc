#include <medley/report/statistics.h>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <medley/base/error.h>

namespace medley {
namespace {

// Figures from the closed form with z = 1.96, as in Newcombe 1998, table I: 81 of 263 gives 0.2553 .. 0.3662,
// 15 of 148 gives 0.0624 .. 0.1605, 0 of 20 gives 0 .. 0.1611.
TEST(Statistics, WilsonIntervalsAreThoseOfThePublishedTable) {
  const auto expect = [](double successes, double trials, double low, double high) {
    const Interval interval = WilsonInterval(successes, trials);
    EXPECT_NEAR(interval.low, low, 1e-4);
    EXPECT_NEAR(interval.high, high, 1e-4);
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0, 0.1611);
  EXPECT_EQ(WilsonInterval(0, 20).low, 0);
  EXPECT_EQ(WilsonInterval(20, 20).high, 1);
}

TEST(Statistics, ZerosAndOnesAreAnAccuracyAndOtherRowsAMean) {
  EXPECT_DOUBLE_EQ(MeanInterval({1, 0, 1, 1}).low, WilsonInterval(3, 4).low);
  const Interval mean = MeanInterval({1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(mean.value, 2.5);
  EXPECT_NEAR(mean.high - mean.value, 1.959964 * std::sqrt(5.0 / 3.0 / 4.0), 1e-6);
}

TEST(Statistics, RowsWithoutAScoreAreLeftOutAndNoRowGivesNoNumber) {
  EXPECT_DOUBLE_EQ(MeanInterval({NAN, 2, 4}).value, 3);
  EXPECT_TRUE(std::isnan(MeanInterval({}).value));
  EXPECT_TRUE(std::isnan(MeanInterval({NAN}).low));
}

TEST(Statistics, NineteenIntervalsInTwentyHoldTheTrueMean) {
  std::mt19937 random(7);
  std::bernoulli_distribution coin(0.3);
  std::exponential_distribution<double> wait(2.0);
  int held_accuracy = 0, held_mean = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> accuracy, waits;
    for (int i = 0; i < 200; ++i) {
      accuracy.push_back(coin(random));
      waits.push_back(wait(random));
    }
    const Interval a = MeanInterval(accuracy), w = MeanInterval(waits);
    held_accuracy += a.low <= 0.3 && 0.3 <= a.high;
    held_mean += w.low <= 0.5 && 0.5 <= w.high;
  }
  EXPECT_NEAR(held_accuracy / double(kTrials), 0.95, 0.02);
  EXPECT_NEAR(held_mean / double(kTrials), 0.95, 0.02);
}

TEST(Statistics, APairedIntervalIsThatOfTheDifferences) {
  const Interval paired = PairedInterval({3, 5, NAN, 4, 1}, {1, 4, 7, 1, NAN});  // 2, 1, 3
  EXPECT_DOUBLE_EQ(paired.value, 2);
  EXPECT_NEAR(paired.high - paired.value, 1.959964 / std::sqrt(3), 1e-6);
  EXPECT_NEAR(paired.value - paired.low, 1.959964 / std::sqrt(3), 1e-6);
  const Interval ones = PairedInterval({1, 1, 0, 1}, {0, 1, 0, 1});  // differences of 0 and 1: no accuracy
  EXPECT_DOUBLE_EQ(ones.high - ones.value, ones.value - ones.low);
  EXPECT_DOUBLE_EQ(PairedInterval({2}, {1}).value, 1);
  EXPECT_TRUE(std::isnan(PairedInterval({2}, {1}).low));
  EXPECT_TRUE(std::isnan(PairedInterval({}, {}).value));
  EXPECT_THROW(PairedInterval({1, 2}, {1}), Error);
}

// Two runs that are good and bad at the same rows: the pairs see a difference that two intervals do not.
TEST(Statistics, PairsHoldTheTrueDifferenceAndAreNarrowerThanTwoIntervals) {
  std::mt19937 random(11);
  std::normal_distribution<double> hard(0, 1), own(0, 0.2);
  int held = 0, found = 0, disjoint = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a, b;
    for (int i = 0; i < 100; ++i) {
      const double row = hard(random);
      a.push_back(row + own(random) + 0.1);
      b.push_back(row + own(random));
    }
    const Interval paired = PairedInterval(a, b), first = MeanInterval(a), second = MeanInterval(b);
    held += paired.low <= 0.1 && 0.1 <= paired.high;
    found += paired.low > 0;
    disjoint += first.low > second.high;
  }
  EXPECT_NEAR(held / double(kTrials), 0.95, 0.02);
  EXPECT_GT(found, 0.85 * kTrials);
  EXPECT_LT(disjoint, 0.05 * kTrials);
}

}  // namespace
}  // namespace medley
