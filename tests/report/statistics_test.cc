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

TEST(Statistics, ZerosAndOnesAreAShareAndOtherRowsAMean) {
  EXPECT_DOUBLE_EQ(MeanInterval({1, 0, 1, 1}).low, WilsonInterval(3, 4).low);
  const Interval mean = MeanInterval({1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(mean.value, 2.5);
  EXPECT_NEAR(mean.high - mean.value, 3.182446 * std::sqrt(5.0 / 3.0 / 4.0), 1e-6);
}

// The 0.975 quantiles of the usual tables; two rows 0 and 2 have a standard error of 1.
TEST(Statistics, FewRowsGetStudentsTInsteadOfTheNormalDistribution) {
  const auto quantile = [](int rows) {
    std::vector<double> values;
    for (int i = 0; i < rows; ++i) values.push_back(i % 2 == 0 ? -1 : 1);
    const Interval interval = StudentInterval(values);
    double squares = 0;
    for (const double x : values) squares += (x - interval.value) * (x - interval.value);
    return (interval.high - interval.value) / std::sqrt(squares / (rows - 1) / rows);
  };
  EXPECT_NEAR(StudentInterval({0, 2}).high, 1 + 12.7062, 1e-4);
  EXPECT_NEAR(quantile(3), 4.3027, 1e-4);
  EXPECT_NEAR(quantile(11), 2.2281, 1e-4);
  EXPECT_NEAR(quantile(31), 2.0423, 1e-4);
  EXPECT_NEAR(quantile(100001), 1.9600, 1e-4);
}

TEST(Statistics, OneRowTellsNothingOfWhereTheMeanLies) {
  for (const Quantity quantity : {Quantity::kShare, Quantity::kAmount, Quantity::kAny, Quantity::kUnknown}) {
    for (const std::vector<double>& rows : {std::vector{1.0}, {NAN, 0.25}, {0.0, NAN}}) {
      const Interval one = MeanInterval(rows, quantity);
      EXPECT_FALSE(std::isnan(one.value));
      EXPECT_TRUE(std::isnan(one.low));
      EXPECT_TRUE(std::isnan(one.high));
    }
  }
}

TEST(Statistics, AnIntervalEndsWhereItsQuantityDoes) {
  const std::vector<double> nearly_right = {1, 1, 1, 0.5}, nearly_wrong = {0, 0, 0.5, 0}, far = {0, 0, 7};
  EXPECT_GT(StudentInterval(nearly_right).high, 1.2);
  EXPECT_EQ(MeanInterval(nearly_right, Quantity::kShare).high, 1);
  EXPECT_DOUBLE_EQ(MeanInterval(nearly_right, Quantity::kShare).low, StudentInterval(nearly_right).low);
  EXPECT_GT(MeanInterval(nearly_right, Quantity::kAmount).high, 1.2);
  EXPECT_LT(StudentInterval(nearly_wrong).low, -0.2);
  EXPECT_EQ(MeanInterval(nearly_wrong, Quantity::kShare).low, 0);
  EXPECT_EQ(MeanInterval(far, Quantity::kAmount).low, 0);
  EXPECT_EQ(MeanInterval(far).low, 0) << "an amount, as it seems";
  EXPECT_LT(MeanInterval(far, Quantity::kAny).low, -5);
  EXPECT_LT(MeanInterval({-0.1, 0, 7}, Quantity::kAmount).low, -5) << "no amount after all";
  EXPECT_GT(MeanInterval({0.5, 1, 7}, Quantity::kShare).high, 7) << "no share after all";
}

// A distance may be exactly 0 or 1 in every row that counts; only what is said to be a share, or may be one,
// is judged as one.
TEST(Statistics, AnAmountOfOneIsNoShare) {
  const std::vector<double> rows = {1, 1, 0, 1};
  EXPECT_DOUBLE_EQ(MeanInterval(rows, Quantity::kShare).low, WilsonInterval(3, 4).low);
  EXPECT_DOUBLE_EQ(MeanInterval(rows, Quantity::kAmount).high, StudentInterval(rows).high);
  EXPECT_DOUBLE_EQ(MeanInterval(rows, Quantity::kAny).low, StudentInterval(rows).low);
  EXPECT_EQ(QuantityOfScore(true, 0.5), Quantity::kShare);
  EXPECT_EQ(QuantityOfScore(true, 0.0), Quantity::kShare);
  EXPECT_EQ(QuantityOfScore(true, -3.0), Quantity::kAny);
  EXPECT_EQ(QuantityOfScore(true, std::nullopt), Quantity::kAny);
  EXPECT_EQ(QuantityOfScore(false, std::nullopt), Quantity::kAmount);
  EXPECT_EQ(QuantityOfScore(false, 0.5), Quantity::kAmount);
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

// With five rows, 1.96 standard errors would hold it in 88 of 100.
TEST(Statistics, NineteenIntervalsInTwentyHoldTheTrueMeanOfFiveRowsToo) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(3, 1);
  int held = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> rows;
    for (int i = 0; i < 5; ++i) rows.push_back(normal(random));
    const Interval interval = MeanInterval(rows, Quantity::kAny);
    held += interval.low <= 3 && 3 <= interval.high;
  }
  EXPECT_NEAR(held / double(kTrials), 0.95, 0.015);
}

TEST(Statistics, APairedIntervalIsThatOfTheDifferences) {
  const Interval paired = PairedInterval({3, 5, NAN, 4, 1}, {1, 4, 7, 1, NAN});  // 2, 1, 3
  EXPECT_DOUBLE_EQ(paired.value, 2);
  EXPECT_NEAR(paired.high - paired.value, 4.302653 / std::sqrt(3), 1e-6);
  EXPECT_NEAR(paired.value - paired.low, 4.302653 / std::sqrt(3), 1e-6);
  const Interval ones = PairedInterval({1, 1, 0, 1}, {0, 1, 0, 1});  // differences of 0 and 1: no accuracy
  EXPECT_DOUBLE_EQ(ones.high - ones.value, ones.value - ones.low);
  EXPECT_DOUBLE_EQ(PairedInterval({2}, {1}).value, 1);
  EXPECT_TRUE(std::isnan(PairedInterval({2}, {1}).low));
  EXPECT_TRUE(std::isnan(PairedInterval({2, NAN}, {1, 1}).high));
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
