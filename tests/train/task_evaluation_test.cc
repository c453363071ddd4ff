#include <medley/train/task_evaluation.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace medley {
namespace {

TaskEvaluation ScoredTask() {
  TaskEvaluation scored{.task = "zoom",
                        .failure = std::nullopt,
                        .score = {},
                        .rows_at_once = 16,
                        .sheet = Picture(3, 2, 7),
                        .warnings = {"seen in training"}};
  scored.score = {.metric = "error",
                  .higher_is_better = false,
                  .score = {1.0 / 3, std::nan(""), std::numeric_limits<double>::infinity()},
                  .chance = 0.1,
                  .trivial = {{"input", 0.7}},
                  .figures = {{"found", {.value = {0.25, 0.1, 0.4}, .rows = 10, .items = 4}}},
                  .rows = 20,
                  .unscored = 3,
                  .items = 5,
                  .loss = -0.0};
  scored.sheet->pixels[4] = 200;
  return scored;
}

TEST(TaskEvaluation, AnotherProcessReadsEveryBit) {
  const TaskEvaluation scored = ScoredTask();
  const auto read = TaskEvaluationsOf(ToBytes({scored, scored}));
  ASSERT_EQ(read.size(), 2U);
  const TaskEvaluation& same = read[1];
  EXPECT_EQ(same.task, "zoom");
  EXPECT_FALSE(same.failure);
  EXPECT_EQ(same.rows_at_once, 16);
  EXPECT_EQ(same.warnings, scored.warnings);
  ASSERT_TRUE(same.sheet);
  EXPECT_EQ(same.sheet->width, 3);
  EXPECT_EQ(same.sheet->pixels, scored.sheet->pixels);
  EXPECT_EQ(ToJson(same.score).dump(), ToJson(scored.score).dump());
  EXPECT_TRUE(std::isnan(same.score.score.low));
  EXPECT_EQ(same.score.score.high, scored.score.score.high);
  EXPECT_EQ(same.score.unscored, 3);
  EXPECT_TRUE(std::signbit(same.score.loss));
}

TEST(TaskEvaluation, AndWhatWentWrongWhereThereIsNoScore) {
  TaskEvaluation failed = ScoredTask();
  failed.failure = Failure{.reason = "no room", .code = ExitCode::kDoesNotFit, .out_of_memory = true};
  const auto read = TaskEvaluationsOf(ToBytes({failed}));
  ASSERT_EQ(read.size(), 1U);
  ASSERT_TRUE(read[0].failure);
  EXPECT_EQ(read[0].failure->reason, "no room");
  EXPECT_EQ(read[0].failure->code, ExitCode::kDoesNotFit);
  EXPECT_EQ(read[0].warnings.size(), 1U);
  EXPECT_TRUE(TaskEvaluationsOf(ToBytes({})).empty());
}

}  // namespace
}  // namespace medley
