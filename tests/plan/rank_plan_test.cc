// Plans of one of several processes, and what the run gets of them.
#include <medley/plan/rank_plan.h>

#include "tests/plan/plan_fixture.h"

namespace medley {
namespace {

using namespace plan_fixture;

TEST(RankPlan, APartIsTheEvenOneOfASingleDrawAndAWholeDrawOfSeveral) {
  TaskRequest fixed, open;
  fixed.rows = 10;
  const auto rows = [&](std::int64_t ranks, std::int64_t draws) {
    const auto parts = PartsOf({fixed, open}, ranks, draws);
    EXPECT_EQ(parts.at(1).rows, 0) << "as many as fit";
    return parts.at(0).rows;
  };
  EXPECT_EQ(rows(1, 1), 10);
  EXPECT_EQ(rows(4, 1), 3);
  EXPECT_EQ(rows(16, 1), 1);
  EXPECT_EQ(rows(4, 2), 10) << "most of a step's draws stay whole";
}

TEST(RankPlan, OpenRowsAreThoseOfAllProcessesAndOthersAsAskedFor) {
  const Profile profile = TwoTasks();
  PlanSetting setting{.budget = 60000};
  std::vector<TaskRequest> asked;
  for (const auto& [form, measured] : profile.tasks) {
    TaskRequest& request = asked.emplace_back();
    request.form.id = form;
    request.form.task = form.text();
    request.rows = asked.size() == 1 ? 0 : 7;
  }
  const Plan one = MakePlan(profile, asked, setting);
  for (const std::int64_t ranks : {2, 3}) {
    const Plan all = OfWholeDraws(MakePlan(profile, PartsOf(asked, ranks, 1), setting), asked, ranks);
    EXPECT_EQ(all.ranks, ranks);
    EXPECT_EQ(all.entries.at(0).rows, ranks * one.entries.at(0).rows);
    EXPECT_EQ(all.entries.at(0).micro_rows, one.entries.at(0).micro_rows);
    EXPECT_EQ(all.entries.at(0).predicted_peak, one.entries.at(0).predicted_peak);
    EXPECT_EQ(all.entries.at(1).rows, 7);
    EXPECT_LE(all.entries.at(1).micro_rows, (7 + ranks - 1) / ranks);
    EXPECT_EQ(PlanFromJson(ToJson(all), "plan.json").ranks, ranks);
  }
  EXPECT_FALSE(ToJson(one).contains("ranks"));
}

// Of several draws a step most are one process's, with all rows that were made for all of them.
TEST(RankPlan, OfSeveralDrawsAWholeOneMayWait) {
  Profile profile = TwoTasks();
  const PlanSetting setting{.budget = 60000, .waiting_draws = 3};
  const FormId name = profile.tasks.begin()->first;
  profile.tasks.at(name).batch_per_row = 20;
  TaskRequest open;
  open.form.id = name;
  open.form.task = name.text();
  for (const std::int64_t ranks : {1, 2, 4}) {
    const Plan plan = OfWholeDraws(MakePlan(profile, PartsOf({open}, ranks, 3), setting), {open}, ranks);
    const PlannedTask& task = plan.entries.at(0);
    EXPECT_GE(plan.data_bytes, 3 * 20 * task.rows) << ranks;
    EXPECT_LE(task.predicted_peak + plan.data_bytes, setting.budget) << ranks;
  }
}

// Processes of unlike machines find unlike rows and modes, and all divide a draw by the same numbers.
TEST(RankPlan, AgreedDrawsTakeThePlaceOfThePlans) {
  Plan plan = MakePlan(TwoTasks(), {}, {.budget = 60000});
  for (const auto& [form, measured] : TwoTasks().tasks) {
    PlannedTask& entry = plan.entries.emplace_back();
    entry.form = form;
    entry.rows = 12;
    entry.micro_rows = 6;
    entry.operations = 12 * 50;
  }
  PlannedDraws draws = DrawsOf(plan);
  ASSERT_EQ(draws.size(), 2U);
  const FormId first = draws.begin()->first;
  EXPECT_EQ(draws.at(first).rows, 12);
  EXPECT_EQ(draws.at(first).operations, 50);
  draws.at(first) = {.rows = 4, .operations = 70};
  draws.erase(std::next(draws.begin()));
  TakeDraws(draws, plan);
  ASSERT_EQ(plan.entries.size(), 1U);
  EXPECT_EQ(plan.entries[0].rows, 4);
  EXPECT_EQ(plan.entries[0].micro_rows, 4);
  EXPECT_EQ(OperationsOfARow(plan.entries[0]), 70);
}

// Fewer rows are told as the run's, whose config they are for.
TEST(RankPlan, ARefusalNamesRowsOfWholeDraws) {
  Profile profile = TwoTasks();
  std::vector<TaskRequest> asked;
  for (auto& [form, measured] : profile.tasks) {
    measured.batch_per_row = 1000;
    TaskRequest& request = asked.emplace_back();
    request.form.id = form;
    request.form.task = form.text();
    request.rows = 400;
  }
  try {
    MakePlan(profile, PartsOf(asked, 4, 1), {.budget = 60000, .machine = 60000, .waiting_draws = 1});
    FAIL() << "100 rows of 1000 bytes fit nowhere";
  } catch (const DoesNotFit& refusal) {
    const std::string words = refusal.what();
    const std::size_t at = words.find("rows=");
    ASSERT_NE(at, std::string::npos) << words;
    EXPECT_EQ(std::stol(words.substr(at + 5)) % 4, 0) << words;
  }
}

}  // namespace
}  // namespace medley
