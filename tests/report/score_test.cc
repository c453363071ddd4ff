// Scores beside what is had without learning, and their way through JSON.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <medley/report/score.h>

namespace medley {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ScoreRecord ScoreOf(bool higher_is_better, Interval score) {
  ScoreRecord record;
  record.metric = "error";
  record.higher_is_better = higher_is_better;
  record.score = score;
  record.rows = record.items = 8;
  return record;
}

TEST(Scores, AreClearWhereTheirIntervalIsBetterThanTheBestWithoutLearning) {
  ScoreRecord accuracy = ScoreOf(true, {.value = 0.6, .low = 0.5, .high = 0.7});
  EXPECT_FALSE(BestBaseline(accuracy));
  EXPECT_FALSE(IsClear(accuracy)) << "of nothing";
  accuracy.trivial = {{"most frequent", 0.49}, {"nothing", kNan}};
  EXPECT_EQ(BestBaseline(accuracy)->name, "most frequent");
  EXPECT_EQ(IsClear(accuracy), true);
  accuracy.chance = 0.5;
  EXPECT_EQ(BestBaseline(accuracy)->name, "chance");
  EXPECT_EQ(IsClear(accuracy), false) << "0.5 at least, which is chance";

  ScoreRecord error = ScoreOf(false, {.value = 0.2, .low = 0.1, .high = 0.3});
  error.trivial = {{"input", 0.4}, {"mean target", 0.35}};
  EXPECT_EQ(BestBaseline(error)->value, 0.35);
  EXPECT_EQ(IsClear(error), true);
  error.chance = 0.25;
  EXPECT_EQ(IsClear(error), false);
  error.score.high = kNan;
  EXPECT_FALSE(IsClear(error)) << "too few rows for an interval";
}

TEST(Scores, AreReadAsTheyWereWrittenAndNoNumberComesBackFromNull) {
  ScoreRecord score = ScoreOf(true, {.value = 0.6, .low = kNan, .high = kNan});
  score.trivial = {{"input", kNan}};
  score.figures["found"] = {.value = {.value = kNan, .low = kNan, .high = kNan}, .rows = 0, .items = 0};
  score.loss = kNan;
  const ScoreRecord read = ScoreRecordFrom(nlohmann::json::parse(ToJson(score).dump()));
  EXPECT_EQ(read.metric, "error");
  EXPECT_EQ(read.score.value, 0.6);
  EXPECT_TRUE(std::isnan(read.score.low) && std::isnan(read.loss) && std::isnan(read.trivial.at("input")));
  EXPECT_TRUE(std::isnan(read.figures.at("found").value.value));
  EXPECT_FALSE(read.chance);
  EXPECT_EQ(ToJson(read).dump(), ToJson(score).dump());
}

}  // namespace
}  // namespace medley
