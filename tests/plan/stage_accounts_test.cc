#include <gtest/gtest.h>

#include <medley/plan/receipt.h>

namespace medley {
namespace {

constexpr std::size_t kWide = 200;

StepRecord Step(std::int64_t stage, const std::string& name, const std::string& task, std::int64_t rows,
                const std::string& unit = "rows") {
  StepRecord record;
  record.stage = {.number = stage, .name = name, .unit = unit, .shares = {}};
  // What is declared: 7 tokens a row of both.
  record.stage.shares[task] = {.asked = 0.5, .delivered = 0.25, .charged = 7 * rows};
  record.draws = {{.task = task, .begin = 0, .rows = rows}};
  record.seconds = 2;
  DrawReceipt draw;
  draw.form = FormId(task + "@1f3a9c");
  draw.rows = rows;
  draw.tokens_run = 10 * rows;
  draw.forwards = 3;
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
  EXPECT_EQ(one.tokens_run, 80);
  EXPECT_EQ(one.forwards, 6);
  EXPECT_EQ(one.seconds, 4);
  EXPECT_EQ(one.peak, 4000);
  EXPECT_EQ(one.asked, 0.5);
  const std::string table = StagesTable(again.stages(), kWide);
  EXPECT_NE(table.find("stage 1, a\n"), std::string::npos) << table;
  EXPECT_NE(table.find("8 (40.0 %)"), std::string::npos) << table;
  EXPECT_NE(table.find("4 (66.7 %)"), std::string::npos) << table;  // seconds
  EXPECT_EQ(again.ToJson(), receipt.ToJson());
  EXPECT_EQ(table.find("times through"), std::string::npos) << "no data that ends";
  EXPECT_EQ(StagesTable(Receipt().stages(), kWide), "");
}

// A loss is the last one, so it says nothing of the stages before.
TEST(StageAccounts, HaveALossInTheLastStageThatHadTheTask) {
  Receipt receipt;
  receipt.RecordStep(Step(0, "a", "one", 4));
  receipt.RecordStep(Step(0, "a", "two", 4));
  receipt.RecordStep(Step(1, "b", "two", 4));
  const std::string table = StagesTable(receipt.stages(), kWide, {{"one", 0.125}, {"two", 0.25}});
  const std::size_t second = table.find("stage 2, b");
  ASSERT_NE(second, std::string::npos) << table;
  EXPECT_LT(table.find("0.125"), second) << table;
  EXPECT_GT(table.find("0.25"), second) << table;
  EXPECT_EQ(StagesTable(receipt.stages(), kWide).find("loss"), std::string::npos);
}

TEST(StageAccounts, OfFiniteDataSayHowOftenItWasGoneThrough) {
  Receipt receipt;
  for (const char* task : {"one", "two"}) {
    StepRecord record = Step(0, "", task, 30);
    if (record.draws.front().task == "one") record.items["one"] = 12;
    receipt.RecordStep(record);
  }
  const Receipt again = Receipt::FromJson(receipt.ToJson());
  EXPECT_EQ(again.stages().stages()[0].tasks.at("one").items, 12);
  const std::string table = StagesTable(again.stages(), kWide);
  EXPECT_NE(table.find("times through\n"), std::string::npos) << table;
  EXPECT_NE(table.find("2.5 of 12\n"), std::string::npos) << table;
  EXPECT_EQ(again.ToJson(), receipt.ToJson());
}

// Declared tokens are what the weights ask shares of; those that ran are another number under another name.
TEST(StageAccounts, WhatTheUnitCountsHasAColumnOfItsOwn) {
  for (const std::string unit : {"tokens", "passes"}) {
    Receipt receipt;
    receipt.RecordStep(Step(0, "", "one", 30, unit));
    receipt.RecordStep(Step(0, "", "two", 10, unit));
    const Receipt again = Receipt::FromJson(receipt.ToJson());
    EXPECT_EQ(again.stages().stages().at(0).unit, unit);
    const std::string table = StagesTable(again.stages(), kWide);
    const std::string head = table.substr(0, table.find('\n'));
    EXPECT_NE(head.find("declared " + unit), std::string::npos) << table;
    EXPECT_NE(head.find("tokens run"), std::string::npos) << table;
    EXPECT_NE(head.find("forwards"), std::string::npos) << table;
    EXPECT_NE(table.find("210 (75.0 %)"), std::string::npos) << table;
  }
  Receipt rows;
  rows.RecordStep(Step(0, "", "one", 30));
  EXPECT_EQ(StagesTable(rows.stages(), kWide).find("declared"), std::string::npos);
}

TEST(StageAccounts, OfAnOlderMedleyAreRead) {
  Receipt receipt;
  receipt.RecordStep(Step(0, "a", "one", 4));
  nlohmann::ordered_json json = receipt.ToJson();
  nlohmann::ordered_json& stage = json["stages"][0];
  stage.erase("unit");
  nlohmann::ordered_json& task = stage["tasks"]["one"];
  for (const char* added : {"charged", "tokens_run", "forwards"}) task.erase(added);
  task["tokens"] = 40;
  task["passes"] = 3;
  const StageAccounts accounts = Receipt::FromJson(json).stages();
  EXPECT_EQ(accounts.stages()[0].tasks.at("one").tokens_run, 40);
  EXPECT_EQ(accounts.stages()[0].tasks.at("one").forwards, 3);
  EXPECT_EQ(StagesTable(accounts).find("declared"), std::string::npos);
}

}  // namespace
}  // namespace medley
