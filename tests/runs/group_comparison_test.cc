#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <medley/report/student.h>
#include <medley/runs/group_comparison.h>

#include "tests/runs/made_group.h"
#include "tests/words.h"

namespace medley {
namespace {

using test::Has;
using test::MadeGroup;
using test::MadeGroupRun;
using test::WithRate;

std::vector<RunGroup> Groups(RunGroup a, RunGroup b) {
  std::vector<RunGroup> groups;
  groups.push_back(std::move(a));
  groups.push_back(std::move(b));
  return groups;
}

std::string Lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

double Half(const Interval& interval) { return (interval.high - interval.low) / 2; }

// By summing Student's density up.
double SlowQuantile(double degrees, double confidence) {
  const double scale = std::exp(std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2)) /
                       std::sqrt(degrees * std::numbers::pi);
  constexpr double kStep = 1e-4;
  double inside = 0, at = 0;
  for (; inside < confidence / 2; at += kStep) {
    const double middle = at + kStep / 2;
    inside += kStep * scale * std::pow(1 + middle * middle / degrees, -(degrees + 1) / 2);
  }
  return at;
}

TEST(Student, QuantilesAreThoseOfTablesAndOfTheDensitySummedUp) {
  EXPECT_NEAR(StudentQuantile(2), 4.30265, 1e-5);
  EXPECT_NEAR(StudentQuantile(4), 2.77645, 1e-5);
  EXPECT_NEAR(StudentQuantile(4, 0.99), 4.60409, 1e-5);
  for (const double degrees : {2.0, 3.7, 8.0}) {
    for (const double confidence : {0.95, 1 - 0.05 / 8})
      EXPECT_NEAR(StudentQuantile(degrees, confidence), SlowQuantile(degrees, confidence), 1e-3);
  }
}

TEST(Student, IntervalsAreThoseOfTheFormulasDoneSlowly) {
  const std::vector<double> a = {3, 5, 7}, b = {1, 2, 6, 7};  // variances 4 and 8.67, means 5 and 4
  const Interval mean = StudentInterval(a);
  EXPECT_DOUBLE_EQ(mean.value, 5);
  EXPECT_NEAR(Half(mean), 4.30265 * 2 / std::sqrt(3), 1e-4);
  const double one = 4.0 / 3, other = 26.0 / 3 / 4, both = one + other;
  const Interval welch = WelchInterval(a, b);
  EXPECT_DOUBLE_EQ(welch.value, 1);
  EXPECT_NEAR(Half(welch),
              SlowQuantile(both * both / (one * one / 2 + other * other / 3), .95) * std::sqrt(both), 1e-3);
  const Interval paired = PairedStudentInterval(a, {2, 4, 5});  // 1, 1, 2
  EXPECT_NEAR(Half(paired), 4.30265 * std::sqrt(1.0 / 3) / std::sqrt(3), 1e-4);
}

TEST(Student, FewerThanTwoValuesOrNoSpreadHaveNoInterval) {
  EXPECT_TRUE(std::isnan(StudentInterval({}).value));
  EXPECT_EQ(StudentInterval({.5}).value, .5);
  for (const Interval& interval :
       {StudentInterval({.5}), StudentInterval({.1, .1, .1}),
        PairedStudentInterval({.3, .4, .7}, {.2, .3, .6}), WelchInterval({1}, {2, 3})})
    EXPECT_TRUE(std::isnan(interval.low) && std::isnan(interval.high)) << interval.low;
}

// What is the same in runs of one seed, and what is not.
double Drawn(std::mt19937_64& random, double mean, double common) {
  return mean + common + std::normal_distribution<double>(0, .05)(random);
}

// Three others, of the same seeds or of their own.
TEST(GroupComparison, IntervalsOfARowHoldTogetherInNinetyFiveOfAHundredSweeps) {
  const std::vector<double> means = {.5, .5, .6, .45};
  constexpr int kSweeps = 2000;
  for (const bool is_paired : {true, false}) {
    std::mt19937_64 random(is_paired ? 1 : 2);
    int held = 0, alone = 0;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const int seeds = 3 + sweep % 3;
      std::vector<RunGroup> groups;
      for (std::size_t i = 0; i < means.size(); ++i) {
        groups.push_back(MadeGroup("g", std::vector<double>(static_cast<std::size_t>(seeds))));
        for (GroupRun& run : groups.back().runs)
          if (!is_paired) run.seed += 100 * static_cast<std::int64_t>(i);
      }
      for (int seed = 0; seed < seeds; ++seed) {
        const double common = std::normal_distribution<double>(0, .1)(random);
        for (std::size_t i = 0; i < means.size(); ++i)
          groups[i].runs[static_cast<std::size_t>(seed)].scores.at("zoom").score.score.value =
              Drawn(random, means[i], is_paired ? common : std::normal_distribution<double>(0, .1)(random));
      }
      const GroupComparison comparison = CompareGroups(groups);
      bool all = true;
      for (std::size_t i = 1; i < means.size(); ++i) {
        const GroupDifference& found = *comparison.tasks[0].cells[i].difference;
        ASSERT_EQ(found.is_paired, is_paired);
        const double truth = means[i] - means[0];
        all = all && found.difference.low <= truth && truth <= found.difference.high;
        alone += found.verdict == ScoreVerdict::kNoDifference ? 0 : 1;
      }
      held += all ? 1 : 0;
    }
    EXPECT_GE(held, kSweeps * 93 / 100) << is_paired;
    EXPECT_LE(held, kSweeps * 995 / 1000) << is_paired << ": so wide that nothing is found";
    EXPECT_GT(alone, 0);
  }
}

TEST(GroupComparison, PairedBySeedIsNarrowerWhereSeedsMatter) {
  const std::vector<double> base = {.2, .5, .8}, better = {.26, .57, .85};
  const GroupComparison paired =
      CompareGroups(Groups(MadeGroup("a", base), MadeGroup("b", better, WithRate(1))));
  nlohmann::ordered_json two = WithRate(1);
  two["steps"] = 9;
  const GroupComparison welch = CompareGroups(Groups(MadeGroup("a", base), MadeGroup("b", better, two)));
  const GroupDifference &by_seed = *paired.tasks[0].cells[1].difference,
                        &alone = *welch.tasks[0].cells[1].difference;
  EXPECT_TRUE(by_seed.is_paired);
  EXPECT_FALSE(alone.is_paired);
  EXPECT_DOUBLE_EQ(by_seed.difference.value, alone.difference.value);
  EXPECT_LT(20 * Half(by_seed.difference), Half(alone.difference));
  EXPECT_EQ(by_seed.verdict, ScoreVerdict::kBetter);
  EXPECT_EQ(alone.verdict, ScoreVerdict::kNoDifference);
  EXPECT_EQ(paired.groups[1].better, 1u);
  EXPECT_EQ(paired.mean_loss.cells[1].difference->verdict, ScoreVerdict::kBetter) << "less loss";
  EXPECT_TRUE(Has(Lines(paired.after), "Paired by seed (B)")) << Lines(paired.after);
  EXPECT_TRUE(Has(Lines(welch.after), "Not paired by seed (B; Welch's t)")) << Lines(welch.after);
  EXPECT_EQ(welch.groups[1].differs.size(), 2u);
}

TEST(GroupComparison, WithSeveralGroupsEachIntervalIsWiderAndThatIsSaid) {
  std::vector<RunGroup> groups =
      Groups(MadeGroup("a", {.2, .5, .8}), MadeGroup("b", {.3, .55, .8}, WithRate(1)));
  const double alone = Half(CompareGroups(groups).tasks[0].cells[1].difference->difference);
  groups.push_back(MadeGroup("c", {.1, .2, .4}, WithRate(2)));
  const GroupComparison three = CompareGroups(groups);
  EXPECT_NEAR(Half(three.tasks[0].cells[1].difference->difference) / alone,
              SlowQuantile(2, .975) / SlowQuantile(2, .95), 1e-3);
  EXPECT_DOUBLE_EQ(three.confidence, .975);
  EXPECT_TRUE(Has(Lines(three.after), "With 2 comparisons")) << Lines(three.after);
}

TEST(GroupComparison, BelowThreeSeedsThereAreNumbersAndNoVerdict) {
  const GroupComparison two =
      CompareGroups(Groups(MadeGroup("a", {.2, .3, .4}), MadeGroup("b", {.8, .9}, WithRate(1))));
  const GroupCell& cell = two.tasks[0].cells[1];
  EXPECT_NEAR(cell.mean.value, .85, 1e-12);
  EXPECT_TRUE(std::isnan(cell.mean.low));
  EXPECT_NEAR(cell.difference->difference.value, .55, 1e-12);
  EXPECT_TRUE(std::isnan(cell.difference->difference.low));
  EXPECT_FALSE(cell.difference->verdict);
  EXPECT_EQ(two.groups[1].alike, 0u);
  EXPECT_TRUE(Has(Lines(two.after), "Fewer than three seeds (B)")) << Lines(two.after);
  const GroupComparison one = CompareGroups(Groups(MadeGroup("a", {.2}), MadeGroup("b", {.8})));
  EXPECT_NEAR(one.tasks[0].cells[1].difference->difference.value, .6, 1e-12);
  EXPECT_FALSE(one.tasks[0].cells[1].difference->verdict);
}

TEST(GroupComparison, SeedsThatOnlyOneHasDoNotCountInPairs) {
  RunGroup b = MadeGroup("b", {.3, .6, .9}, WithRate(1));
  b.runs.push_back(MadeGroupRun(9, {{"zoom", 100}}, WithRate(1)));
  const GroupComparison found = CompareGroups(Groups(MadeGroup("a", {.2, .5, .7}), std::move(b)));
  EXPECT_NEAR(found.tasks[0].cells[1].difference->difference.value, .4 / 3, 1e-12);
  EXPECT_EQ(found.tasks[0].cells[1].difference->pairs, 3u);
  EXPECT_TRUE(Has(Lines(found.after), "B without 9")) << Lines(found.after);
}

TEST(GroupComparison, UnlikeRowsAreSaidFirstAndHaveNoVerdict) {
  nlohmann::ordered_json other = WithRate(1);
  other["eval"] = {{"seed", 7}};
  const GroupComparison found =
      CompareGroups(Groups(MadeGroup("a", {.1, .2, .3}), MadeGroup("b", {.7, .8, .91}, other)));
  EXPECT_TRUE(
      Has(Lines(found.before), "B (seed 1) is scored on other rows than A: its eval.seed is 7, not 0"))
      << Lines(found.before);
  EXPECT_EQ(
      std::ranges::count_if(found.before, [](const std::string& line) { return Has(line, "other rows"); }), 1)
      << Lines(found.before);
  EXPECT_FALSE(found.tasks[0].cells[1].difference->verdict);
  EXPECT_FALSE(found.mean_loss.cells[1].difference->verdict);
}

TEST(GroupComparison, OtherMetricsStepsAndSettingsAreSaidFirst) {
  RunGroup b = MadeGroup("b", {.7, .8, .91}, WithRate(1));
  b.runs[1].scores.at("zoom").score.metric = "iou";
  b.runs[2].scores.at("zoom").step = 200;
  b.runs[2].rows.config["threads"] = 2;
  const GroupComparison found = CompareGroups(Groups(MadeGroup("a", {.1, .2, .3}), std::move(b)));
  const std::string before = Lines(found.before);
  EXPECT_TRUE(Has(before, "B (seed 2) scores 'zoom' by iou, others by accuracy")) << before;
  EXPECT_TRUE(Has(before, "B after step 200 to 300; A after step 300")) << before;
  EXPECT_TRUE(Has(before, "B: its runs differ in more than their seeds (threads)")) << before;
  EXPECT_EQ(found.tasks[0].cells[1].values.size(), 2u);
}

TEST(GroupComparison, ScoresThatAreAllTheSameHaveNoInterval) {
  const GroupComparison found =
      CompareGroups(Groups(MadeGroup("a", {.5, .5, .5}), MadeGroup("b", {1, 1, 1}, WithRate(1))));
  EXPECT_FALSE(found.tasks[0].cells[1].difference->verdict);
  RunGroup spread = MadeGroup("b", {.9, .95, 1}, WithRate(1));
  const GroupComparison one = CompareGroups(Groups(MadeGroup("a", {.5, .5, .5}), std::move(spread)));
  EXPECT_EQ(one.tasks[0].cells[1].difference->verdict, ScoreVerdict::kBetter);
  EXPECT_TRUE(Has(Lines(one.after), "No interval where all seeds have the same score")) << Lines(one.after);
}

TEST(GroupComparison, TheMeanLossIsOfTasksThatAllHave) {
  RunGroup a = MadeGroup("a", {.1, .2, .3}), b = MadeGroup("b", {.2, .3, .5}, WithRate(1));
  for (GroupRun& run : a.runs) run.scores["alone"] = MadeGroupRun(0, {{"alone", 0}}).scores.at("alone");
  const GroupComparison found = CompareGroups(Groups(std::move(a), std::move(b)));
  EXPECT_NEAR(found.mean_loss.cells[0].mean.value, .8, 1e-12);
  EXPECT_FALSE(found.tasks[0].cells[1].difference) << found.tasks[0].name;
  EXPECT_TRUE(Has(Lines(found.after), "(not: alone)")) << Lines(found.after);
}

}  // namespace
}  // namespace medley
