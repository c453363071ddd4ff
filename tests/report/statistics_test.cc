#include <medley/report/statistics.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include <medley/base/error.h>

namespace medley {
namespace {

constexpr ScoreRange kShare{.low = 0, .high = 1}, kAmount{.low = 0};

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

TEST(Statistics, TheMedianOfAnEvenNumberIsTheGreaterOfTheTwo) {
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
  EXPECT_EQ(MedianOf({4, 1, 3, 2}), 3);
  EXPECT_TRUE(std::isnan(MedianOf({})));
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
    const Interval interval = MeanInterval(values);
    double squares = 0;
    for (const double x : values) squares += (x - interval.value) * (x - interval.value);
    return (interval.high - interval.value) / std::sqrt(squares / (rows - 1) / rows);
  };
  EXPECT_NEAR(MeanInterval({0, 2}).high, 1 + 12.7062, 1e-4);
  EXPECT_NEAR(quantile(3), 4.3027, 1e-4);
  EXPECT_NEAR(quantile(11), 2.2281, 1e-4);
  EXPECT_NEAR(quantile(31), 2.0423, 1e-4);
  EXPECT_NEAR(quantile(100001), 1.9600, 1e-4);
}

TEST(Statistics, OneRowOrItemTellsNothingOfWhereTheMeanLies) {
  for (const std::optional<ScoreRange>& range : {std::optional(kShare), std::optional(kAmount),
                                                 std::optional(ScoreRange()), std::optional<ScoreRange>()}) {
    for (const std::vector<double>& rows : {std::vector{1.0}, {NAN, 0.25}, {0.0, NAN}}) {
      const Interval one = MeanInterval(rows, range);
      EXPECT_FALSE(std::isnan(one.value));
      EXPECT_TRUE(std::isnan(one.low));
      EXPECT_TRUE(std::isnan(one.high));
    }
    EXPECT_TRUE(std::isnan(MeanInterval({1, 0, 1}, range, {7, 7, 7}).low));
    EXPECT_TRUE(std::isnan(PairedInterval({1, 0, 1}, {0, 0, 1}, range, {7, 7, 7}).high));
  }
}

// Nearly all right, all the same, all at an end, far apart; few rows and many, again and again the same
// items.
TEST(Statistics, NoIntervalLeavesItsRange) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    const ScoreRange range{.low = std::floor(10 * uniform(random)) - 5,
                           .high = 5 + std::floor(9 * uniform(random))};
    const auto count = static_cast<std::size_t>(2 + random() % 40), items = 1 + random() % count;
    const double power = std::pow(30, 2 * uniform(random) - 1);
    std::vector<double> rows, others;
    RowItems row_items;
    for (std::size_t row = 0; row < count; ++row) {
      const auto value = [&] {
        const double at = trial % 3 == 0 ? std::round(uniform(random)) : std::pow(uniform(random), power);
        return range.low + (range.high - range.low) * (trial % 7 == 0 ? 1.0 : at);
      };
      rows.push_back(value());
      others.push_back(value());
      row_items.push_back(static_cast<std::int64_t>(random() % items));
    }
    for (const ScoreRange& said : {range, {.low = range.low}, {.high = range.high}}) {
      for (const RowItems& shown : {RowItems(), row_items}) {
        const Interval mean = MeanInterval(rows, said, shown);
        EXPECT_FALSE(mean.low < said.low || mean.low > mean.value) << mean.low << " of " << mean.value;
        EXPECT_FALSE(mean.high > said.high || mean.high < mean.value) << mean.high << " of " << mean.value;
      }
    }
    const double width = range.high - range.low;
    const Interval paired = PairedInterval(rows, others, range, row_items);
    EXPECT_FALSE(paired.low < -width || paired.low > paired.value || paired.high < paired.value ||
                 paired.high > width)
        << paired.low << " " << paired.value << " " << paired.high;
  }
}

// A share times the trials may be a little above the number that it is.
TEST(Statistics, AnIntervalOfFewSuccessesDoesNotHangOnRounding) {
  for (double trials = 51; trials < 2000; ++trials) {
    const double low = WilsonInterval(3, trials).low,
                 rounded = WilsonInterval(3 / trials * trials, trials).low;
    EXPECT_NEAR(rounded, low, 1e-9) << trials;
  }
}

TEST(Statistics, TheRangeIsTheOneThatIsSaidAsFarAsTheRowsKeepToIt) {
  const auto expect = [](const std::vector<double>& rows, const std::optional<ScoreRange>& said, double low,
                         double high) {
    const ScoreRange range = RangeOf(rows, said);
    EXPECT_EQ(range.low, low);
    EXPECT_EQ(range.high, high);
  };
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  expect({0, NAN, 1}, std::nullopt, 0, 1);
  expect({0.5, NAN, 1}, std::nullopt, -kEndless, kEndless);
  expect({0, 2}, std::nullopt, -kEndless, kEndless);
  expect({0.5, 1}, ScoreRange{.low = -1, .high = 1}, -1, 1);
  expect({0.5, 1}, kAmount, 0, kEndless);
  expect({0.5, 7}, kShare, 0, kEndless);
  expect({-0.1, 7}, kAmount, -kEndless, kEndless);
  expect({0.5, 1}, ScoreRange(), -kEndless, kEndless);
}

// A distance may be exactly 0 or 1 in every row that counts; only what is said to be a share, or may be one,
// is judged as one.
TEST(Statistics, AnAmountOfOneIsNoShare) {
  const std::vector<double> rows = {1, 1, 0, 1};
  EXPECT_DOUBLE_EQ(MeanInterval(rows, kShare).low, WilsonInterval(3, 4).low);
  EXPECT_GT(MeanInterval(rows, kAmount).high, 1.5);
  EXPECT_LT(MeanInterval(rows, ScoreRange()).low, -0.04);
  EXPECT_EQ(RangeOfScore(true, 0.5)->high, 1);
  EXPECT_EQ(RangeOfScore(true, 0.0)->high, 1);
  EXPECT_FALSE(RangeOfScore(true, -3.0));
  EXPECT_FALSE(RangeOfScore(true, std::nullopt));
  EXPECT_EQ(RangeOfScore(false, std::nullopt)->low, 0);
  EXPECT_EQ(RangeOfScore(false, 0.5)->high, std::numeric_limits<double>::infinity());
}

// -1 and 1, or 0 and 100, are answers as well as 0 and 1.
TEST(Statistics, AnotherScaleGivesTheSameIntervalOnThatScale) {
  const std::vector<double> shares = {1, 0, 0.25, 1, 1, 0.5}, answers = {1, 0, 0, 1, 1, 0};
  for (const std::vector<double>& rows : {shares, answers}) {
    std::vector<double> scaled;
    for (const double row : rows) scaled.push_back(200 * row - 100);
    const Interval one = MeanInterval(rows, kShare), other = MeanInterval(scaled, ScoreRange{-100, 100});
    EXPECT_NEAR(other.low, 200 * one.low - 100, 1e-9);
    EXPECT_NEAR(other.high, 200 * one.high - 100, 1e-9);
  }
  EXPECT_DOUBLE_EQ(MeanInterval({-1, 1, 1, 1}, ScoreRange{-1, 1}).low, 2 * WilsonInterval(3, 4).low - 1);
}

// An item that is asked again is the same evidence, however often; only what differs between its rows counts.
TEST(Statistics, RowsThatShowTheSameItemsAgainMakeNoIntervalNarrower) {
  const std::vector<double> answers = {1, 0, 1, 1, 0, 1, 1}, amounts = {3, 8, 0, 1, 1, 5, 2};
  for (const std::vector<double>& once : {answers, amounts}) {
    std::vector<double> rows, others;
    RowItems items;
    for (std::int64_t row = 0; row < 70; ++row) {
      rows.push_back(once[static_cast<std::size_t>(row % 7)]);
      others.push_back(once[static_cast<std::size_t>((row + 1) % 7)]);
      items.push_back(100 - row % 7);
    }
    const std::vector<double> next(others.begin(), others.begin() + 7);
    for (const std::optional<ScoreRange>& range : {std::optional<ScoreRange>(), std::optional(kAmount)}) {
      const Interval all = MeanInterval(rows, range, items), seven = MeanInterval(once, range);
      EXPECT_DOUBLE_EQ(all.value, seven.value);
      EXPECT_NEAR(all.low, seven.low, 1e-12);
      EXPECT_NEAR(all.high, seven.high, 1e-12);
      EXPECT_LT(MeanInterval(rows, range).high, seven.high) << "as if there were seventy";
      const Interval pairs = PairedInterval(rows, others, range, items),
                     few = PairedInterval(once, next, range);
      EXPECT_NEAR(pairs.low, few.low, 1e-9);
      EXPECT_NEAR(pairs.high, few.high, 1e-9);
    }
    EXPECT_EQ(ItemCount(rows, items), 7);
    EXPECT_EQ(ItemCount(rows, {}), 70);
  }
  EXPECT_EQ(ItemCount({1, NAN, 2, NAN}, {5, 5, 6, 7}), 2);
  EXPECT_THROW(MeanInterval({1, 2}, std::nullopt, {1}), Error);
}

TEST(Statistics, ItemsWithoutSpreadStillLeaveRoom) {
  const Interval halves = MeanInterval(std::vector<double>(20, 0.5), kShare);
  EXPECT_LT(halves.low, 0.49);
  EXPECT_GT(halves.low, 0.4);
  EXPECT_GT(halves.high, 0.51);
}

TEST(Statistics, RowsWithoutAScoreAreLeftOutAndNoRowGivesNoNumber) {
  EXPECT_DOUBLE_EQ(MeanInterval({NAN, 2, 4}).value, 3);
  EXPECT_TRUE(std::isnan(MeanInterval({}).value));
  EXPECT_TRUE(std::isnan(MeanInterval({NAN}).low));
}

TEST(Statistics, APairedIntervalIsThatOfTheDifferences) {
  const Interval paired = PairedInterval({3, 5, NAN, 4, 1}, {1, 4, 7, 1, NAN});  // 2, 1, 3
  EXPECT_DOUBLE_EQ(paired.value, 2);
  EXPECT_NEAR(paired.high - paired.value, 4.302653 / std::sqrt(3), 1e-6);
  EXPECT_NEAR(paired.value - paired.low, 4.302653 / std::sqrt(3), 1e-6);
  const Interval ones =
      PairedInterval({1, 1, 0, 1}, {0, 1, 0, 1}, kAmount);  // differences of 0 and 1: no accuracy
  EXPECT_DOUBLE_EQ(ones.high - ones.value, ones.value - ones.low);
  const Interval answers = PairedInterval({1, 1, 0, 1}, {0, 1, 0, 1});
  EXPECT_DOUBLE_EQ(answers.high, TangoInterval(1, 0, 4).high);
  EXPECT_DOUBLE_EQ(PairedInterval({2}, {1}).value, 1);
  EXPECT_TRUE(std::isnan(PairedInterval({2}, {1}).low));
  EXPECT_TRUE(std::isnan(PairedInterval({2, NAN}, {1, 1}).high));
  EXPECT_TRUE(std::isnan(PairedInterval({}, {}).value));
  EXPECT_THROW(PairedInterval({1, 2}, {1}), Error);
}

// Where the score test turns, with the nuisance that is likeliest found by a search in place of Tango's
// formula.
TEST(Statistics, TangoIntervalsAreThoseOfTheScoreTest) {
  const auto expect = [](double more, double less, double pairs, double low, double high) {
    const Interval interval = TangoInterval(more, less, pairs);
    EXPECT_NEAR(interval.low, low, 1e-4) << more << " " << less;
    EXPECT_NEAR(interval.high, high, 1e-4) << more << " " << less;
  };
  expect(12, 2, 32, 0.09389, 0.50687);
  expect(14, 0, 50, 0.17474, 0.41665);
  expect(3, 1, 64, -0.04313, 0.11617);
  expect(0, 0, 50, -0.07135, 0.07135);
  expect(1, 0, 20, -0.11918, 0.23613);
  expect(30, 25, 200, -0.04856, 0.09878);
  expect(7, 12, 40, -0.32976, 0.09129);
  EXPECT_EQ(TangoInterval(0, 0, 50).value, 0);
  EXPECT_NEAR(TangoInterval(0, 0, 50).high, -TangoInterval(0, 0, 50).low, 1e-9);
  EXPECT_EQ(TangoInterval(20, 0, 20).high, 1);
  EXPECT_EQ(TangoInterval(0, 20, 20).low, -1);
}

// Two runs that are good and bad at the same rows: the pairs see a difference that two intervals do not.
TEST(Statistics, PairsAreNarrowerThanTwoIntervals) {
  std::mt19937 random(11);
  std::normal_distribution<double> hard(0, 1), own(0, 0.2);
  int found = 0, disjoint = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a, b;
    for (int i = 0; i < 100; ++i) {
      const double row = hard(random);
      a.push_back(row + own(random) + 0.1);
      b.push_back(row + own(random));
    }
    found += PairedInterval(a, b).low > 0;
    disjoint += MeanInterval(a).low > MeanInterval(b).high;
  }
  EXPECT_GT(found, 0.85 * kTrials);
  EXPECT_LT(disjoint, 0.05 * kTrials);
}

}  // namespace
}  // namespace medley
