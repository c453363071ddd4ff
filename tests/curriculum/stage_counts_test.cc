#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include <medley/curriculum/condition.h>
#include <medley/curriculum/forecast.h>

#include "curriculum/conditions.h"
#include "curriculum/mixer_fixtures.h"

namespace medley::testing {
namespace {

using conditions::All;
using conditions::Any;
using conditions::LossBelow;
using conditions::Rows;
using conditions::ScoreOf;
using conditions::Steps;

TEST(StageCounts, StepsAndRowsHoldWhenTheyAreReached) {
  StageCounts counts;
  counts.AddStep({{"a", 4}, {"b", 2}}, {});
  EXPECT_EQ(Judge(Steps(2), counts), Verdict::kWaits);
  EXPECT_EQ(Judge(Rows(6), counts), Verdict::kHolds);
  EXPECT_EQ(Judge(Rows(5, "a"), counts), Verdict::kWaits);
  EXPECT_EQ(Judge(Rows(4, "a"), counts), Verdict::kHolds);
  EXPECT_EQ(Judge(Rows(1, "c"), counts), Verdict::kWaits);
  counts.AddStep({{"a", 4}}, {});
  EXPECT_EQ(Judge(Steps(2), counts), Verdict::kHolds);
  EXPECT_EQ(WaitsFor(Any({Steps(5), Rows(9, "a")}), counts, {}), "step 2 of 5 or a 8 of 9 rows");
}

TEST(StageCounts, LossesAreSmoothedOverFiftySteps) {
  StageCounts counts;
  for (int i = 0; i < 9; ++i) counts.AddStep({}, {{"a", 1.0}});
  EXPECT_EQ(Judge(LossBelow("a", 5), counts), Verdict::kWaits);  // of nine steps nothing is known
  counts.AddStep({}, {{"b", 9.0}});
  EXPECT_EQ(Judge(LossBelow("a", 5), counts), Verdict::kWaits);
  counts.AddStep({}, {{"a", 1.0}});
  EXPECT_EQ(Judge(LossBelow("a", 5), counts), Verdict::kHolds);
  for (int i = 0; i < 40; ++i) counts.AddStep({}, {{"a", 3.0}});
  EXPECT_NEAR(counts.loss("a").loss, (10 * 1.0 + 40 * 3.0) / 50, 1e-12);  // the mean so far
  counts.AddStep({}, {{"a", 52.6}});
  EXPECT_NEAR(counts.loss("a").loss, 3.6, 1e-12);  // a fiftieth of the way
  EXPECT_EQ(Judge(LossBelow("a", 3.6 - 1e-9), counts), Verdict::kWaits);
}

TEST(StageCounts, ScoresMustHoldInARow) {
  StageCounts counts;
  const Condition twice = ScoreOf("a", 2, 0.5);
  for (const double score : {0.6, 0.4, 0.5}) counts.AddScore("a", score);
  EXPECT_EQ(Judge(twice, counts), Verdict::kWaits);
  EXPECT_EQ(WaitsFor(twice, counts, {}), "a 0.5 of 0.5 (1 of 2 evaluations)");
  counts.AddScore("b", 0.1);
  counts.AddScore("a", 0.7);
  EXPECT_EQ(Judge(twice, counts), Verdict::kHolds);
  counts.AddScore("a", std::nan(""));
  EXPECT_EQ(Judge(twice, counts), Verdict::kWaits);
  const Condition low{until::Score{.score = "b", .at_most = 0.1}};
  EXPECT_EQ(Judge(low, counts), Verdict::kHolds);
}

TEST(StageCounts, TreesAreJudgedWithoutWhatWasDropped) {
  StageCounts counts;
  counts.AddStep({{"a", 4}}, {});
  const GoneTasks gone = {{"b", "broken"}};
  const Condition of_b = Rows(1, "b");
  EXPECT_EQ(Judge(All({Steps(1), of_b}), counts), Verdict::kWaits);
  EXPECT_EQ(Judge(All({Steps(1), of_b}), counts, gone), Verdict::kHolds);
  EXPECT_EQ(Judge(Any({Steps(2), of_b}), counts, gone), Verdict::kWaits);
  EXPECT_EQ(Judge(Any({of_b, All({ScoreOf("b", 1, 0), LossBelow("b", 1)})}), counts, gone), Verdict::kGone);
  EXPECT_EQ(Judge(All({Any({Steps(1), Rows(99)}), Steps(1)}), counts), Verdict::kHolds);
  EXPECT_EQ(WaitsFor(Any({Steps(2), of_b, All({Rows(9), of_b})}), counts, gone),
            "step 1 of 2 or (4 of 9 rows)");
}

TEST(StageCounts, AreTheSameAfterAResume) {
  StageCounts counts;
  for (int i = 1; i < 70; ++i) {
    counts.AddStep({{"a", i}, {"b", 2}}, {{"a", 1.0 / i}, {"b", std::sin(i)}});
    if (i % 7 == 0) counts.AddScore("a", 1.0 / i);
  }
  StageCounts again = StageCounts::Load(nlohmann::json::parse(counts.Save().dump()));
  EXPECT_EQ(again.Save(), counts.Save());
  for (StageCounts* both : {&again, &counts}) both->AddStep({{"a", 1}}, {{"a", 0.3}});
  EXPECT_EQ(again.loss("a").loss, counts.loss("a").loss);
  nlohmann::json bad = counts.Save();
  bad["steps"] = -1;
  EXPECT_ANY_THROW(StageCounts::Load(bad));
}

Curriculum TwoStages(Condition until, std::int64_t cooldown) {
  Curriculum curriculum;
  curriculum.stages.resize(2);
  curriculum.stages[0] = {
      .name = "first", .weights = {{"task0", 3}, {"task1", 1}}, .until = std::move(until)};
  curriculum.stages[0].cooldown_steps = cooldown;
  curriculum.stages[1] = {.name = "second", .weights = {{"task1", 1}}, .until = Steps(7)};
  return curriculum;
}

TEST(Forecast, CountsWhatTheRunWould) {
  const ForecastSetting setting{.sizes = SizesOf({10, 4}), .steps = 1000};
  const Forecast forecast = ForecastRun(TwoStages(Rows(30, "task0"), 2), setting);
  ASSERT_EQ(forecast.stages.size(), 2u);
  EXPECT_TRUE(forecast.stages[0].ends);
  EXPECT_GE(forecast.stages[0].shares.at("task0").rows, 30);
  EXPECT_EQ(forecast.stages[1].steps, 7);
  EXPECT_EQ(forecast.stages[1].shares.at("task1").rows, 28);
  EXPECT_EQ(forecast.stages[1].shares.at("task0").rows, 0);
  EXPECT_EQ(forecast.steps, forecast.stages[0].steps + 7);
}

TEST(Forecast, TheShortestRunHasGoodScoresAndTheLongestBadOnes) {
  const Curriculum curriculum = TwoStages(Any({ScoreOf("task0", 2, 0.8), Steps(500)}), 20);
  ForecastSetting setting{.sizes = SizesOf({10, 4}), .steps = 1000, .eval_every = 50};
  setting.measured = Measured::kAlwaysGood;
  EXPECT_EQ(ForecastRun(curriculum, setting).steps, 100 + 20 + 7);
  setting.measured = Measured::kNeverGood;
  EXPECT_EQ(ForecastRun(curriculum, setting).steps, 500 + 20 + 7);
  setting.steps = 300;
  EXPECT_EQ(ForecastRun(curriculum, setting).stages.size(), 1u);
  EXPECT_FALSE(ForecastRun(curriculum, setting).stages[0].ends);
  setting.steps = 1000;
  const CurriculumDrawing drawing(curriculum, setting);
  EXPECT_EQ(
      drawing.HeadOf(0),
      "1 first: until task0 at least 0.8 in 2 evaluations or 500 steps, then 20 to cool; 120 to 520 steps");
  EXPECT_EQ(drawing.HeadOf(1), "2 second: until 7 steps; 7 steps");
  EXPECT_EQ(drawing.LengthOfRun(), "the run takes 127 to 527 steps");
}

}  // namespace
}  // namespace medley::testing
