#include <gtest/gtest.h>

#include <medley/plan/receipt.h>

namespace medley {
namespace {

StepRecord Step(std::int64_t stage, const std::string& name, const std::string& task, std::int64_t rows) {
  StepRecord record;
  record.stage = {.number = stage, .name = name, .shares = {{task, {.asked = 0.5, .delivered = 0.25}}}};
  record.draws = {{.task = task, .begin = 0, .rows = rows}};
  record.seconds = 2;
  DrawReceipt draw;
  draw.task = task;
  draw.rows = rows;
  draw.tokens = 10 * rows;
  draw.passes = 3;
  draw.measured = 1000 * rows;
  record.receipts = {draw};
  return record;
}

TEST(StageAccounts, AddUpByStageAndTask) {
  Receipt receipt;
  receipt.RecordStep(Step(0, "a", "one", 4));
  receipt.RecordStep(Step(0, "a", "two", 12));
  receipt.RecordStep(Step(0, "a", "one", 4));
  receipt.RecordStep(Step(1, "b", "one", 2));
  const Receipt again = Receipt::FromJson(receipt.ToJson());
  ASSERT_EQ(again.stages().stages().size(), 2u);
  const StageAccount& first = again.stages().stages()[0];
  EXPECT_EQ(first.name, "a");
  const TaskAccount& one = first.tasks.at("one");
  EXPECT_EQ(one.rows, 8);
  EXPECT_EQ(one.steps, 2);
  EXPECT_EQ(one.tokens, 80);
  EXPECT_EQ(one.passes, 6);
  EXPECT_EQ(one.seconds, 4);
  EXPECT_EQ(one.peak, 4000);
  EXPECT_EQ(one.asked, 0.5);
  const std::string table = StagesTable(again.stages());
  EXPECT_NE(table.find("stage 1, a\n"), std::string::npos) << table;
  EXPECT_NE(table.find("8 (40.0 %)"), std::string::npos) << table;
  EXPECT_NE(table.find("4 (66.7 %)"), std::string::npos) << table;  // seconds
  EXPECT_EQ(again.ToJson(), receipt.ToJson());
  EXPECT_EQ(StagesTable(Receipt().stages()), "");
}

}  // namespace
}  // namespace medley
