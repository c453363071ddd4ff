#include <medley/plan/plan.h>

#include <medley/base/bytes.h>
#include <medley/base/newer.h>
#include <medley/report/table.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <utility>

#include "tests/plan/plan_fixture.h"
#include "tests/words.h"

namespace medley {
namespace {

using namespace plan_fixture;

constexpr std::int64_t kFloor = 3100;           // of TwoTasks
constexpr std::int64_t kQaFloor = kFloor + 40;  // with its tables

PlannedTask PlanOf(const TaskRequest& request, std::int64_t budget) {
  return MakePlan(TwoTasks(), {request}, {.budget = budget}).entries.at(0);
}

TEST(Plan, AutoFillsTheBudgetInTheModeWithTheMostRows) {
  const PlannedTask qa = PlanOf(Ask("qa", 0), kQaFloor + 1000 + 57 * 1000 + 999);
  EXPECT_EQ(qa.way.mode, Mode::kSequential);
  EXPECT_EQ(qa.way.recomputed, 0);
  EXPECT_EQ(qa.rows, 57);
  EXPECT_EQ(qa.micro_rows, 57);
  EXPECT_EQ(qa.predicted_peak, kQaFloor + 1000 + 57 * 1000);
  EXPECT_FALSE(qa.confirmed);
  EXPECT_TRUE(PlanOf(Ask("qa", 0), kQaFloor + 1000 + 12 * 1000).confirmed);
}

TEST(Plan, AutoRepeatsForwardsOnlyWhereNotOneRowFitsOtherwise) {
  const std::int64_t floor = kFloor + 60;
  const PlannedTask joint = PlanOf(Ask("canvas", 0), floor + 800 + 6000);
  EXPECT_EQ(joint.way.mode, Mode::kJoint);
  EXPECT_EQ(joint.rows, 1);  // three in two-stage, but a forward of each maker would be repeated
  const PlannedTask two_stage = PlanOf(Ask("canvas", 0), floor + 800 + 5999);
  EXPECT_EQ(two_stage.way.mode, Mode::kTwoStage);
  EXPECT_EQ(two_stage.way.recomputed, 0);  // repeats less than with recomputation, which has more rows
  EXPECT_EQ(two_stage.rows, 2);
  const PlannedTask last = PlanOf(Ask("canvas", 0), floor + 800 + 1999);
  EXPECT_EQ(last.way.recomputed, 1);
  EXPECT_EQ(last.rows, 2);
}

// Two tasks that have 57 rows, and one that has 9.
struct Uneven {
  Uneven() {
    profile.tasks[FormId("more_qa")] = profile.tasks.at(FormId("qa"));
    setting.balance = 0.9;
  }
  Plan Made() const { return MakePlan(profile, asked, setting); }

  Profile profile = TwoTasks();
  std::vector<TaskRequest> asked{Ask("qa", 0), Ask("more_qa", 0), Ask("canvas", 0)};
  PlanSetting setting{.budget = kFloor + 140 + 1000 + 57 * 1000};
};

TEST(Plan, OpenRowsBelowTheBarComeToTheUsualOnesAndNoOthersMove) {
  Uneven tasks;
  const Plan plan = tasks.Made();
  EXPECT_EQ(plan.usual_rows, 57);
  for (const char* name : {"qa", "more_qa"}) {
    EXPECT_EQ(plan.Find(FormId(name))->rows, 57);
    EXPECT_EQ(plan.Find(FormId(name))->own_rows, 0);
  }
  const PlannedTask& canvas = *plan.Find(FormId("canvas"));
  EXPECT_EQ(canvas.rows, 57);
  EXPECT_EQ(canvas.micro_rows, 57);
  EXPECT_EQ(canvas.own_rows, 9);
  EXPECT_EQ(canvas.way, (Way{Mode::kTwoStage, 1}));  // the only one that comes there
  EXPECT_EQ(canvas.why, "two_stage + recompute 1: 56 % more work, 9 to 57 rows");
  EXPECT_LE(plan.Taken(canvas), tasks.setting.budget);
  EXPECT_EQ(ToJson(PlanFromJson(ToJson(plan), "plan.json")), ToJson(plan));
  tasks.setting.balance = 0;
  const Plan before = tasks.Made();
  EXPECT_EQ(before.usual_rows, 0);
  EXPECT_EQ(before.Find(FormId("canvas"))->rows, 9);
  EXPECT_FALSE(ToJson(before).contains("usual_rows"));
}

TEST(Plan, TheUsualRowsAreReachedInTheWayOfLeastWork) {
  Uneven tasks;
  std::vector<ModeProfile>& modes = tasks.profile.tasks.at(FormId("canvas")).modes;
  modes.push_back(ModeOf(Mode::kJoint, 600, 800, 1));
  const auto canvas = [&] { return *tasks.Made().Find(FormId("canvas")); };
  EXPECT_EQ(canvas().way, (Way{Mode::kJoint, 1}));
  EXPECT_TRUE(canvas().finer.empty());  // how many layers there are nobody knows
  tasks.profile.tasks.at(FormId("canvas")).layers = 28;
  // A row may have 1003 bytes: 26 of 28 layers by the line from 6000 to 600.
  EXPECT_EQ(canvas().finer, (std::vector<Way>{{Mode::kJoint, {26, 28}}, {Mode::kTwoStage, {22, 28}}}));
  modes.push_back(ModeOf(Mode::kJoint, 1000, 800, 0));
  modes.back().way.recomputed = {26, 28};
  EXPECT_EQ(canvas().why, "joint + recompute 26/28: 31 % more work, 9 to 57 rows");
  EXPECT_EQ(canvas().finer, (std::vector<Way>{{Mode::kJoint, {25, 28}}, {Mode::kTwoStage, {22, 28}}}));
  modes.push_back(ModeOf(Mode::kJoint, 1100, 800, 0));
  modes.back().way.recomputed = {25, 28};
  EXPECT_EQ(canvas().way, (Way{Mode::kJoint, {26, 28}}));
  EXPECT_EQ(canvas().finer, (std::vector<Way>{{Mode::kTwoStage, {22, 28}}}));
  // Counted work goes before the share of the layers.
  for (ModeProfile& mode : modes) mode.work = WorkOf(100);
  modes[2].work = WorkOf(80);
  EXPECT_EQ(tasks.Made().Find(FormId("canvas"))->way, (Way{Mode::kTwoStage, 1}));
  // No plan that does not balance takes a part that nobody pinned.
  tasks.setting.balance = 0;
  tasks.setting.budget = kFloor + 140 + 800 + 1500;
  EXPECT_EQ(MakePlan(tasks.profile, {tasks.asked[2]}, tasks.setting).entries.at(0).way.recomputed, 1);
}

TEST(Plan, TheUsualRowsAreThoseOfTasksAndNotOfTheirForms) {
  Uneven tasks;
  for (const char* form : {"canvas@1", "canvas@2", "canvas@3"}) {
    tasks.profile.tasks[FormId(form)] = tasks.profile.tasks.at(FormId("canvas"));
    tasks.asked.push_back(Ask("canvas", 0));
    tasks.asked.back().form.id = FormId(form);
  }
  const Plan plan = tasks.Made();
  EXPECT_EQ(plan.usual_rows, plan.Find(FormId("qa"))->rows);
}

TEST(Plan, WhatComesToTheUsualRowsInNoForwardHasThemInMicroBatches) {
  Uneven tasks;
  tasks.profile.tasks.at(FormId("canvas")).modes.resize(1);
  const PlannedTask canvas = *tasks.Made().Find(FormId("canvas"));
  EXPECT_EQ(canvas.way, (Way{Mode::kJoint, 0}));
  EXPECT_EQ(canvas.rows, 57);
  EXPECT_EQ(canvas.micro_rows, 9);  // 7 forwards
  EXPECT_EQ(canvas.why, "joint: in micro-batches, 9 to 57 rows");
}

TEST(Plan, FixedRowsAreNoneOfTheUsualOnesAndARunKeepsThose) {
  Uneven tasks;
  tasks.asked[0].rows = tasks.asked[1].rows = 16;
  EXPECT_EQ(tasks.Made().Find(FormId("canvas"))->rows, 9);  // of one task the median is its own
  tasks.setting.usual_rows = 20;                            // as the run began
  const Plan later = tasks.Made();
  EXPECT_EQ(later.Find(FormId("canvas"))->rows, 20);
  EXPECT_EQ(later.Find(FormId("canvas"))->way, (Way{Mode::kTwoStage, 0}));
  EXPECT_EQ(later.Find(FormId("qa"))->rows, 16);
}

TEST(Plan, FixedRowsRunTogetherInThePreferredModeWhereTheyFit) {
  for (const std::int64_t budget : {kQaFloor + 1000 + 16 * 1000, std::int64_t{100000000}}) {
    const PlannedTask qa = PlanOf(Ask("qa", 16), budget);
    EXPECT_EQ(qa.way.mode, Mode::kSequential);
    EXPECT_EQ(qa.rows, 16);
    EXPECT_EQ(qa.micro_rows, 16);
    EXPECT_EQ(qa.ms_per_step, 18);
  }
}

TEST(Plan, FixedRowsThatDoNotFitAreCutIntoEqualMicroBatches) {
  // Micro-batches find gradients: 2000 bytes instead of 1000. Nine would fit.
  const PlannedTask qa = PlanOf(Ask("qa", 16), kQaFloor + 2000 + 9 * 1000 + 500);
  EXPECT_EQ(qa.way.mode, Mode::kSequential);
  EXPECT_EQ(qa.rows, 16);
  EXPECT_EQ(qa.micro_rows, 8);
  EXPECT_EQ(qa.predicted_peak, kQaFloor + 2000 + 8 * 1000);
  EXPECT_EQ(qa.ms_per_step, 2 * 10);
  EXPECT_EQ(PlanOf(Ask("qa", 17), kQaFloor + 2000 + 9 * 1000).micro_rows, 9);  // 9 and 8
  EXPECT_EQ(PlanOf(Ask("qa", 19), kQaFloor + 2000 + 9 * 1000).micro_rows, 7);  // 7, 7 and 5
}

TEST(Plan, NoMicroBatchIsLargerThanWhatFitsAndTheirNumberIsTheLeast) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 200);
    const std::int64_t most = 1 + static_cast<std::int64_t>(random() % 60);
    Profile profile = TwoTasks();
    profile.tasks[FormId("qa")].modes.pop_back();  // the one that repeats forwards
    const PlanSetting setting{.budget = kQaFloor + 2000 + most * 1000};
    const PlannedTask qa = MakePlan(profile, {Ask("qa", rows)}, setting).entries.at(0);
    const std::int64_t pieces = (rows + qa.micro_rows - 1) / qa.micro_rows;
    const std::int64_t together = 1 + most;  // no gradients yet
    EXPECT_EQ(pieces, rows <= together ? 1 : (rows + most - 1) / most);
    const std::int64_t last = rows - (pieces - 1) * qa.micro_rows;
    EXPECT_LT(qa.micro_rows - last, pieces);  // no tiny remainder
  }
}

TEST(Plan, FixedRowsRepeatForwardsOnlyWhereNothingElseFits) {
  const std::int64_t floor = kFloor + 60;
  Profile profile = TwoTasks();
  for (StepTime& time : profile.tasks[FormId("canvas")].modes[0].times) time.milliseconds *= 1000;
  const auto plan = [&](std::int64_t room) {
    return MakePlan(profile, {Ask("canvas", 12)}, {.budget = floor + 1600 + room}).entries.at(0);
  };
  EXPECT_EQ(plan(6000).way.mode,
            Mode::kJoint);  // however slow it was, and though three rows fit in two-stage
  EXPECT_EQ(plan(6000).micro_rows, 1);
  EXPECT_EQ(plan(5999).way.mode, Mode::kTwoStage);
  EXPECT_EQ(plan(5999).way.recomputed, 0);  // repeats less than with recomputation
  EXPECT_EQ(plan(5999).micro_rows, 2);
  EXPECT_EQ(plan(1999).way.recomputed, 1);
}

TEST(Plan, OfModesThatFitAlikeFixedRowsTakeTheOneWithLessWork) {
  const auto plan = [](std::int64_t rows, std::int64_t room, const Profile& profile = CountedTasks()) {
    return MakePlan(profile, {Ask("qa", rows)}, {.budget = kQaFloor + room}).entries.at(0);
  };
  const PlannedTask roomy = plan(16, 1000 + 16 * 3000);
  EXPECT_EQ(roomy.way.mode, Mode::kJoint);
  EXPECT_EQ(roomy.micro_rows, 16);
  EXPECT_EQ(roomy.operations, 16 * 90);
  EXPECT_EQ(roomy.why, "joint: 10 % less work than sequential");
  EXPECT_EQ(OperationsOfARow(roomy), 90);
  // In fewer pieces, whatever they compute.
  const PlannedTask tight = plan(16, 1000 + 16 * 3000 - 1);
  EXPECT_EQ(tight.way.mode, Mode::kSequential);
  EXPECT_EQ(tight.micro_rows, 16);
  EXPECT_EQ(tight.operations, 16 * 100);
  EXPECT_EQ(tight.why, "");
  // Where both are cut alike it counts again; "auto" takes the most rows.
  TaskRequest pinned = Ask("qa", 16);
  pinned.micro_rows = 3;
  EXPECT_EQ(MakePlan(CountedTasks(), {pinned}, {.budget = kQaFloor + 2000 + 9000}).entries.at(0).way.mode,
            Mode::kJoint);
  EXPECT_EQ(plan(0, 100000).way.mode, Mode::kSequential);
  // As much work, and a count that lacks one: the preferred mode.
  Profile other = CountedTasks();
  std::vector<ModeProfile>& qa = other.tasks[FormId("qa")].modes;
  qa[0].work = qa[1].work;
  EXPECT_EQ(plan(16, 100000, other).way.mode, Mode::kSequential);
  EXPECT_EQ(plan(16, 100000, other).why, "");
  qa[0].work = WorkOf(90);
  qa[2].work.clear();
  EXPECT_EQ(plan(16, 100000, other).way.mode, Mode::kSequential);
  // A tenth is written as such, a thousandth is not nothing.
  qa = CountedTasks().tasks[FormId("qa")].modes;
  qa[0].work = WorkOf(999), qa[1].work = WorkOf(1000);
  EXPECT_EQ(plan(16, 100000, other).why, "joint: less than 1 % less work than sequential");
}

// Forwards that are repeated come first: what they take would be found in the counts as well.
TEST(Plan, LessWorkIsNoReasonToRepeatForwards) {
  Profile profile = CountedTasks();
  std::vector<ModeProfile>& qa = profile.tasks[FormId("qa")].modes;
  qa[2].work = WorkOf(1);  // a count that cannot be
  EXPECT_EQ(MakePlan(profile, {Ask("qa", 16)}, {.budget = 100000000}).entries.at(0).way.recomputed, 0);
}

TEST(Plan, WhatTakesNoRowsCountsOnceAForward) {
  Profile profile = CountedTasks();
  profile.tasks[FormId("qa")].modes[1].work = WorkOf(100, 7);
  TaskRequest request = Ask("qa", 16);
  request.mode = Mode::kSequential;
  request.micro_rows = 5;  // 5, 5, 5 and 1
  const PlannedTask qa = MakePlan(profile, {request}, {.budget = 1000000}).entries.at(0);
  EXPECT_EQ(qa.operations, 16 * 100 + 4 * 7);
  EXPECT_EQ(OperationsOfARow(PlanOf(Ask("qa", 16), 1000000)), std::nullopt) << "nobody counted";
}

// As the estimate has it, which runs nothing.
TEST(Plan, WhereNobodyCountedTheModeThatMakesThingsOnceIsTaken) {
  Profile profile = TwoTasks();
  std::vector<ModeProfile>& qa = profile.tasks[FormId("qa")].modes;
  qa[0].makes_once = true;
  const auto plan = [&] { return MakePlan(profile, {Ask("qa", 16)}, {.budget = 1000000}).entries.at(0); };
  EXPECT_EQ(plan().way.mode, Mode::kJoint);
  EXPECT_EQ(plan().why, "joint: makes more of a picture only once than sequential");
  EXPECT_EQ(plan().operations, 0);
  qa[1].work = WorkOf(1);  // measured, the others not
  EXPECT_EQ(plan().way.mode, Mode::kJoint);
}

// A plan without what a stopwatch said.
nlohmann::ordered_json Untimed(const Plan& plan) {
  nlohmann::ordered_json json = ToJson(plan);
  for (auto& task : json["tasks"]) task.erase("ms_per_step");
  return json;
}

TEST(Plan, NeitherMeasuredTimesNorTheOrderOfMeasuringDecideAnything) {
  std::mt19937 random(7);
  for (std::int64_t room = 700; room < 60000; room += 997) {
    const PlanSetting setting{.budget = kFloor + 100 + 2000 + room, .waiting_draws = 2};
    for (const std::int64_t rows : {0, 1, 16, 61}) {
      const std::vector<TaskRequest> requests{Ask("qa", rows), Ask("canvas", rows)};
      Profile profile = room % 2 == 0 ? TwoTasks() : CountedTasks();
      const auto plan = [&]() -> nlohmann::ordered_json {
        try {
          return Untimed(MakePlan(profile, requests, setting));
        } catch (const DoesNotFit& refusal) {
          return refusal.what();
        }
      };
      const nlohmann::ordered_json before = plan();
      for (auto& [name, task] : profile.tasks) {
        std::shuffle(task.modes.begin(), task.modes.end(), random);
        for (ModeProfile& mode : task.modes) {
          for (StepTime& time : mode.times) time.milliseconds = static_cast<double>(random() % 1000000) / 100;
        }
      }
      EXPECT_EQ(plan(), before) << "with " << setting.budget << " bytes and " << rows << " rows";
    }
  }
}

TEST(Plan, PinsAreRespected) {
  TaskRequest request = Ask("qa", 16);
  request.mode = Mode::kJoint;
  EXPECT_EQ(PlanOf(request, 1000000).way.mode, Mode::kJoint);
  request = Ask("qa", 16);
  request.micro_rows = 3;
  EXPECT_EQ(PlanOf(request, 1000000).micro_rows, 3);
  EXPECT_EQ(PlanOf(request, 1000000).predicted_peak, kQaFloor + 2000 + 3000);
  request = Ask("qa", 16);
  request.recomputed = 1;
  EXPECT_EQ(PlanOf(request, 1000000).way.recomputed, 1);
  request.recomputed = 0;  // is a pin too
  EXPECT_EQ(PlanOf(request, kQaFloor + 2000 + 1000).way.recomputed, 0);
  const PlanSetting less{.budget = kQaFloor + 2000 + 999};
  EXPECT_EQ(PlanOf(Ask("qa", 16), less.budget).way.recomputed, 1);
  EXPECT_EQ(RefusalsOf(TwoTasks(), {request}, less).at(0).change, "tasks.qa.recompute_every=1");
}

TEST(Plan, EveryTaskHasTheBudgetToItself) {
  const Plan both = MakePlan(TwoTasks(), {Ask("qa", 0), Ask("canvas", 0)}, {.budget = 200000});
  const Plan alone = MakePlan(TwoTasks(), {Ask("qa", 0)}, {.budget = 200000 - 60});
  EXPECT_EQ(both.Find(FormId("qa"))->rows,
            alone.Find(FormId("qa"))->rows);  // another task costs no more than its tables
  EXPECT_EQ(both.floor.constants, 100);
  EXPECT_EQ(both.Find(FormId("nobody")), nullptr);
}

TEST(Plan, ATableThatTasksShareIsCountedOnce) {
  Profile profile = TwoTasks();  // with tables of 40 and 60 bytes
  for (const char* name : {"qa", "canvas"}) profile.tasks.at(FormId(name)).shared = {{"qa/words/1", 30}};
  const std::vector<TaskRequest> both = {Ask("qa", 0), Ask("canvas", 0)};
  EXPECT_EQ(MakePlan(profile, both, {.budget = 200000}).floor.constants, 70);
  EXPECT_EQ(MakePlan(profile, {both.front()}, {.budget = 200000}).floor.constants, 40);
  EXPECT_EQ(MakePlan(TwoTasks(), both, {.budget = 200000}).floor.constants, 100);
}

TEST(Plan, RowsThatWaitArePlannedToo) {
  const PlanSetting setting{.budget = 200000, .waiting_draws = 5};
  const Plan plan = MakePlan(TwoTasks(), {Ask("qa", 0), Ask("canvas", 0)}, setting);
  std::int64_t largest = 0;
  for (const PlannedTask& entry : plan.entries) {
    const std::int64_t bytes = entry.rows * (entry.form == FormId("qa") ? 10 : 20);
    largest = std::max(largest, bytes);
    EXPECT_LE(entry.predicted_peak + plan.data_bytes, setting.budget);
  }
  EXPECT_GE(plan.data_bytes, 5 * largest);
  EXPECT_LT(plan.data_bytes, 5 * largest + 100) << "more is kept free than waits";
  const Plan fixed = MakePlan(TwoTasks(), {Ask("qa", 8), Ask("canvas", 7)}, setting);
  EXPECT_EQ(fixed.data_bytes, 5 * 7 * 20);
}

TEST(Plan, CachesLieInTheBudgetBesideTheRowsThatWait) {
  Profile cached = TwoTasks();
  cached.tasks.at(FormId("qa")).cache = 3000;
  cached.tasks.at(FormId("canvas")).cache = 4000;
  const std::vector<TaskRequest> asked{Ask("qa", 0), Ask("canvas", 0)};
  const Plan with = MakePlan(cached, asked, {.budget = 200000, .waiting_draws = 5}),
             without = MakePlan(TwoTasks(), asked, {.budget = 193000, .waiting_draws = 5});
  EXPECT_EQ(with.cache_bytes, 7000);
  EXPECT_EQ(with.waiting_bytes(), without.data_bytes);
  ASSERT_EQ(with.entries.size(), without.entries.size());
  for (std::size_t i = 0; i < with.entries.size(); ++i) {
    EXPECT_EQ(with.entries[i].rows, without.entries[i].rows);
    EXPECT_EQ(with.entries[i].predicted_peak, without.entries[i].predicted_peak);
    EXPECT_EQ(with.Taken(with.entries[i]), without.Taken(without.entries[i]) + 7000);
  }
  EXPECT_EQ(ToJson(PlanFromJson(ToJson(with), "plan.json")), ToJson(with));
  EXPECT_NE(PlanTable(with).find("caches of the tasks"), std::string::npos) << PlanTable(with);
  EXPECT_EQ(PlanTable(without).find("caches"), std::string::npos) << PlanTable(without);
  try {
    MakePlan(cached, asked, {.budget = 10000});
    ADD_FAILURE() << "it fits";
  } catch (const DoesNotFit& refused) {
    EXPECT_NE(
        std::string(refused.what()).find("caches of tasks, which options of theirs limit, come to 6.8 KiB"),
        std::string::npos)
        << refused.what();
  }
}

TEST(Plan, DrawsOfOneStepFindTheGradientsOfOthers) {
  const PlanSetting one{.budget = 1000000}, two{.budget = 1000000, .draws_per_step = 2};
  const auto peak = [](const PlanSetting& setting) {
    return MakePlan(TwoTasks(), {Ask("canvas", 4)}, setting).entries.at(0).predicted_peak;
  };
  EXPECT_EQ(peak(two) - peak(one), 800 + 200);  // the task's own, and the 200 bytes that it leaves alone
}

TEST(Plan, APeakIsToldApartByWhatWasMeasuredAtIt) {
  Profile profile = TwoTasks();
  ModeProfile& joint = profile.tasks[FormId("qa")].modes[0];  // rows of 3000 bytes
  joint.saved_per_row = 2990;
  joint.saved_by_pass = {{"q0", 1000}, {"q1", 990}, {"q2", 1000}};
  joint.gradients_whole = 50;
  joint.gradients_pieces = 1000;
  TaskRequest request = Ask("qa", 16);
  request.mode = Mode::kJoint;
  const auto plan = [&](std::int64_t budget, std::int64_t draws) {
    return MakePlan(profile, {request}, {.budget = budget, .draws_per_step = draws}).entries.at(0);
  };
  const auto expect = [&](const PlannedTask& entry, std::int64_t gradients) {
    const std::int64_t bytes = entry.predicted_peak - kQaFloor;
    EXPECT_EQ(entry.ledger.saved, joint.saved_per_row * entry.micro_rows)
        << "never cut to make room for gradients";
    EXPECT_EQ(entry.ledger.gradients, gradients);
    EXPECT_EQ(entry.ledger.transient, bytes - entry.ledger.saved - gradients);
    EXPECT_EQ(entry.saved_by_pass, joint.saved_by_pass);
  };
  expect(plan(1000000, 1), 50);
  expect(plan(1000000, 2), 1000);           // an earlier draw left them
  expect(plan(kQaFloor + 30000, 1), 1000);  // micro-batches
  joint.saved_per_row = 3050;
  expect(plan(1000000, 1), 50);
  EXPECT_EQ(PlanFromJson(ToJson(MakePlan(profile, {request}, {.budget = 1000000})), "plan.json")
                .entries.at(0)
                .saved_by_pass,
            joint.saved_by_pass);
}

TEST(Plan, AMarginOnADeviceThatRoundsMovesThePlan) {
  const std::int64_t gib = std::int64_t{1} << 30;
  Profile profile;
  profile.tasks[FormId("qa")].modes = {ModeOf(Mode::kSequential, gib / 64, gib / 4)};
  const auto plan = [&](bool exactly) {
    return MakePlan(profile, {Ask("qa", 0)}, {.budget = 4 * gib, .counts_exactly = exactly}).entries.at(0);
  };
  EXPECT_EQ(plan(true).ledger.margin, 0);
  EXPECT_GE(plan(false).ledger.margin, std::int64_t{64} << 20);
  EXPECT_LE(plan(false).ledger.margin, 4 * gib / 20);
  EXPECT_LT(plan(false).rows, plan(true).rows);
  EXPECT_LE(plan(false).predicted_peak + plan(false).ledger.margin, 4 * gib);
}

// Puts "tasks.qa.micro_rows=4" or "budget=1" into what was asked.
void ApplyOne(const std::string& change, std::vector<TaskRequest>& requests, PlanSetting& setting) {
  const std::string key = change.substr(0, change.find('=')), value = change.substr(change.find('=') + 1);
  if (key == "budget") {
    setting.budget = std::max<std::int64_t>(setting.budget, std::atoll(value.c_str()));
    return;
  }
  if (key == "data.ahead" || key == "data.threads") {
    const std::int64_t ahead = key == "data.ahead" ? std::atoll(value.c_str()) : 0;
    setting.waiting_draws -= std::exchange(setting.draws_ahead, ahead) - ahead;
    return;
  }
  if (key == "draws_per_step") {
    const std::int64_t draws = std::atoll(value.c_str());
    setting.waiting_draws -= std::exchange(setting.draws_per_step, draws) - draws;
  }
  for (TaskRequest& request : requests) {
    const std::string prefix = request.form.KeyPrefix();
    if (key == prefix + "rows") request.rows = std::atoll(value.c_str());
    if (key == prefix + "micro_rows") request.micro_rows = std::atoll(value.c_str());
    if (key == prefix + "mode") request.mode = ParseMode(value);
    if (key == prefix + "recompute_every") request.recomputed = std::atoi(value.c_str());
  }
}

void Apply(const std::string& changes, std::vector<TaskRequest>& requests, PlanSetting& setting) {
  std::istringstream words(changes);
  for (std::string change; words >> change;) ApplyOne(change, requests, setting);
}

// Refused where it ought to be, names a change, and the change fits.
void RefusesAndMends(std::vector<TaskRequest> requests, PlanSetting setting, const std::string& change) {
  const auto refusals = RefusalsOf(TwoTasks(), requests, setting);
  ASSERT_FALSE(refusals.empty());
  EXPECT_EQ(refusals.front().change.substr(0, change.size()), change);
  for (const Refusal& refusal : refusals) {
    EXPECT_GT(refusal.missing, 0);
    Apply(refusal.change, requests, setting);
  }
  EXPECT_NO_THROW(MakePlan(TwoTasks(), requests, setting));
}

TEST(Plan, ARefusalNamesTheSmallestChangeThatFits) {
  TaskRequest pinned_rows = Ask("qa", 16);
  pinned_rows.micro_rows = 12;
  RefusesAndMends({pinned_rows}, {.budget = kQaFloor + 2000 + 3600}, "tasks.qa.micro_rows=9");  // recomputed

  TaskRequest pinned_both = pinned_rows;
  pinned_both.mode = Mode::kJoint;
  RefusesAndMends({pinned_both}, {.budget = kQaFloor + 2000 + 7 * 3000}, "tasks.qa.micro_rows=7");

  TaskRequest pinned_mode = Ask("canvas", 4);
  pinned_mode.mode = Mode::kJoint;
  RefusesAndMends({pinned_mode}, {.budget = kFloor + 60 + 1600 + 5000}, "tasks.canvas.mode=two_stage");

  RefusesAndMends({Ask("canvas", 4), Ask("qa", 0)}, {.budget = kFloor + 100 + 1600 + 699}, "budget=");
}

TEST(Plan, FewerDrawsAheadAreTheSmallestChangeWhereTheySuffice) {
  const std::int64_t row = kQaFloor + 2000 + 400;  // recomputed
  const auto setting = [&](std::int64_t waiting) {
    return PlanSetting{.budget = row + waiting * 16 * 10, .waiting_draws = 6, .draws_ahead = 5};
  };
  RefusesAndMends({Ask("qa", 16)}, setting(5), "data.ahead=4");
  RefusesAndMends({Ask("qa", 16)}, setting(2), "data.ahead=1");
  RefusesAndMends({Ask("qa", 16)}, setting(1), "data.threads=0");
  RefusesAndMends({Ask("qa", 16)}, setting(0), "budget=");
  // The rows that wait alone are more than the budget.
  PlanSetting tiny = setting(2);
  tiny.waiting_draws = 1001, tiny.draws_ahead = 1000;
  RefusesAndMends({Ask("qa", 16)}, tiny, "data.ahead=1");
  EXPECT_EQ(RefusalsOf(TwoTasks(), {Ask("qa", 16)}, tiny).at(0).form, std::nullopt);
}

// A budget that the machine does not have is no advice: fewer draws or rows are, the most that fit.
TEST(Plan, WhereTheMachineHasNoLargerBudgetFewerDrawsOrRowsAreNamed) {
  const std::int64_t row = kQaFloor + 2000 + 400;  // recomputed
  const std::vector<TaskRequest> requests{Ask("qa", 16)};
  PlanSetting setting{.budget = row + 4 * 160, .machine = row + 4 * 160, .waiting_draws = 9};
  std::string words;
  RefusalsOf(TwoTasks(), requests, setting, &words);
  EXPECT_EQ(words.find("with budget="), std::string::npos) << words;
  EXPECT_NE(words.find("As it is it needs a budget of "), std::string::npos) << words;
  EXPECT_NE(words.find("this machine has " + FormatBytes(setting.machine)), std::string::npos) << words;
  // 7 rows are as wide as 4 draws of 16 by 9 that wait.
  RefusesAndMends(requests, setting, "tasks.qa.rows=");
  const std::string change = RefusalsOf(TwoTasks(), requests, setting).at(0).change;
  std::vector<TaskRequest> one_more = requests;
  Apply(change, one_more, setting);
  ++one_more[0].rows;
  EXPECT_FALSE(RefusalsOf(TwoTasks(), one_more, setting).empty()) << change << " is not the most";

  setting.draws_per_step = 9;
  RefusesAndMends(requests, setting, "draws_per_step=4");
  setting.machine = 1 << 30;
  RefusesAndMends(requests, setting, "budget=");
  RefusalsOf(TwoTasks(), requests, setting, &words);
  EXPECT_NE(words.find("Everything fits with draws_per_step=4"), std::string::npos) << words;
  EXPECT_NE(words.find("Everything fits with tasks.qa.rows="), std::string::npos) << words;
}

TEST(Plan, TheSmallestBudgetFitsAndOneByteLessDoesNot) {
  const std::vector<TaskRequest> requests{Ask("canvas", 4), Ask("qa", 3)};
  PlanSetting setting{.budget = 100, .waiting_draws = 2};
  std::string words;
  const auto refusals = RefusalsOf(TwoTasks(), requests, setting, &words);
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals.front().form, std::nullopt);
  EXPECT_EQ(refusals.front().change, "budget=" + std::to_string(kFloor + 100 + 2 * 80 + 1600 + 700));
  EXPECT_NE(words.find("parameters"), std::string::npos) << words;
  setting.budget = kFloor + 100 + 2 * 80 + 1600 + 700;
  EXPECT_NO_THROW(MakePlan(TwoTasks(), requests, setting));
  --setting.budget;
  const auto byte = RefusalsOf(TwoTasks(), requests, setting, &words);
  ASSERT_EQ(byte.size(), 1U);
  EXPECT_EQ(byte.front().form, FormId("canvas"));
  EXPECT_EQ(byte.front().missing, 1);
  EXPECT_NE(words.find("task canvas"), std::string::npos) << words;
  EXPECT_NE(words.find("(1 bytes)"), std::string::npos) << words;
}

TEST(Plan, TheRowsFollowTheBudgetToTheByte) {
  for (std::int64_t extra = 0; extra < 20000; extra += 997) {
    const std::int64_t budget = kQaFloor + 2000 + extra;
    const PlannedTask qa = PlanOf(Ask("qa", 0), budget);
    EXPECT_LE(qa.predicted_peak, budget);
    if (qa.way.recomputed > 0) continue;
    EXPECT_GT(qa.predicted_peak + 1000, budget);
  }
}

// Then a task is planned beside its own tables alone, which may be built anew in each of its draws.
TEST(Plan, WhereTablesAreDroppedATaskHasItsOwnAlone) {
  Profile profile = TwoTasks();
  const std::vector<TaskRequest> requests{Ask("qa", 4), Ask("canvas", 4)};
  const Plan whole = MakePlan(profile, requests, {.budget = 1000000});
  PlanSetting setting{.budget = whole.Find(FormId("canvas"))->predicted_peak, .drops_tables = true};
  EXPECT_EQ(ToJson(MakePlan(profile, requests, setting)),
            ToJson(MakePlan(profile, requests, {.budget = setting.budget})))
      << "only where not all fit";
  std::vector<TaskRequest> pinned = requests;  // to what it was, which does not fit with all tables
  for (TaskRequest& request : pinned) {
    request.mode = whole.Find(request.form.id)->way.mode;
    request.recomputed = whole.Find(request.form.id)->way.recomputed;
    request.micro_rows = request.rows;
  }
  --setting.budget;
  EXPECT_THROW(MakePlan(profile, pinned, {.budget = setting.budget}), DoesNotFit);
  const Plan plan = MakePlan(profile, pinned, setting);
  EXPECT_TRUE(plan.drops_tables);
  EXPECT_EQ(whole.floor_bytes(), kFloor + 40 + 60);
  EXPECT_EQ(plan.floor_bytes(), kFloor);
  EXPECT_EQ(plan.Find(FormId("qa"))->predicted_peak, whole.Find(FormId("qa"))->predicted_peak - 60);
  EXPECT_EQ(plan.Find(FormId("canvas"))->predicted_peak, whole.Find(FormId("canvas"))->predicted_peak - 40);
  const std::int64_t step = plan.Find(FormId("qa"))->predicted_peak - kFloor - 40;
  profile.tasks[FormId("qa")].rebuilding = step + 7;
  EXPECT_EQ(MakePlan(profile, pinned, setting).Find(FormId("qa"))->predicted_peak, kFloor + 40 + step + 7);
  EXPECT_EQ(MakePlan(profile, requests, {.budget = 1000000}).Find(FormId("qa"))->predicted_peak,
            whole.Find(FormId("qa"))->predicted_peak);
  EXPECT_EQ(ToJson(PlanFromJson(ToJson(plan), "plan.json")), ToJson(plan));
  EXPECT_TRUE(PlanFromJson(ToJson(plan), "plan.json").drops_tables);
  // The smallest budget that a refusal names is one in which tables are dropped.
  setting.budget = 1;
  const auto refusals = RefusalsOf(profile, pinned, setting);
  setting.budget = std::atoll(refusals.at(0).change.substr(std::string("budget=").size()).c_str());
  EXPECT_TRUE(MakePlan(profile, pinned, setting).drops_tables);
  --setting.budget;
  EXPECT_THROW(MakePlan(profile, pinned, setting), DoesNotFit);
}

TEST(Plan, ReadsWhatItWrote) {
  const Plan plan =
      MakePlan(TwoTasks(), {Ask("qa", 0), Ask("canvas", 5)}, {.budget = 90000, .waiting_draws = 3});
  const auto json = ToJson(plan);
  EXPECT_EQ(ToJson(PlanFromJson(json, "plan.json")), json);
  const Plan counted = MakePlan(CountedTasks(), {Ask("qa", 16)}, {.budget = 1000000});
  EXPECT_EQ(ToJson(PlanFromJson(ToJson(counted), "plan.json")), ToJson(counted));
  EXPECT_EQ(PlanFromJson(ToJson(counted), "plan.json").entries.at(0).why, counted.entries.at(0).why);
  Plan finer = counted;
  finer.entries.at(0).way.recomputed = {24, 28};
  EXPECT_EQ(ToJson(finer)["tasks"][0]["recompute_layers"], "24/28");
  EXPECT_FALSE(ToJson(finer)["tasks"][0].contains("recompute_every"));
  EXPECT_EQ(PlanFromJson(ToJson(finer), "plan.json").entries.at(0).way, finer.entries.at(0).way);
  auto older = json;  // which counted nothing
  for (auto& task : older["tasks"]) task.erase("operations");
  EXPECT_EQ(ToJson(PlanFromJson(older, "plan.json")), json);
  auto bad = json;
  bad["tasks"][0]["micro_rows"] = 0;
  EXPECT_THROW(PlanFromJson(bad, "plan.json"), InputError);
  EXPECT_THROW(PlanFromJson(nullptr, "plan.json"), InputError);
  bad = json;
  bad["tasks"][0]["recompute_every"] = 99999999999;
  EXPECT_THROW(PlanFromJson(bad, "plan.json"), InputError);
  bad = json;
  bad["tasks"][0]["recompute_layers"] = "29/28";
  EXPECT_THROW(PlanFromJson(bad, "plan.json"), InputError);
  bad["format"] = 2;
  EXPECT_EQ(test::MessageOf<NewerError>([&] { PlanFromJson(bad, "plan.json"); }),
            "plan.json is of a newer medley (format 2, this one reads 1). Use that medley, or remove it");
}

TEST(Plan, TheTableNamesEveryTaskAndTheMargin) {
  const Plan plan = MakePlan(TwoTasks(), {Ask("qa", 0), Ask("canvas", 5)}, {.budget = 90000});
  const std::string text = PlanTable(plan);
  for (const char* words :
       {"qa", "canvas", "sequential", "joint", "in all", "budget", "margin", "parameters", "optimizer",
        "rows that wait", "gradients by then", "a line through the measured ones"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
  EXPECT_EQ(text.find("less work"), std::string::npos) << text;
  const std::string counted =
      PlanTable(MakePlan(CountedTasks(), {Ask("qa", 16), Ask("canvas", 5)}, {.budget = 1000000}));
  EXPECT_NE(counted.find("\n  qa joint: 10 % less work than sequential\n"), std::string::npos) << counted;
}

// Whatever waits beside a peak, and however wide the screen is.
TEST(Plan, APercentageIsThatOfTheBytesBesideIt) {
  Plan plan = MakePlan(TwoTasks(), {Ask("qa", 0), Ask("canvas", 5)}, {.budget = 90000});
  for (const std::int64_t waiting : {0, 7000, 40000}) {
    plan.data_bytes = waiting;
    for (PlannedTask& entry : plan.entries) entry.ledger.margin = waiting / 10;
    const std::string text = PlanTable(plan, 200);
    const std::regex both(R"(([0-9.]+ [KMG]?i?B) \(([0-9.]+) %\))");
    std::size_t found = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), both), end; at != end; ++at, ++found) {
      const double part = static_cast<double>(ParseBytes((*at)[1].str())) / 90000;
      EXPECT_NEAR(std::stod((*at)[2]), 100 * part, 0.15) << text;
    }
    EXPECT_EQ(found, plan.entries.size()) << text;
    const PlannedTask& largest =
        *std::max_element(plan.entries.begin(), plan.entries.end(),
                          [](const auto& a, const auto& b) { return a.predicted_peak < b.predicted_peak; });
    const std::string most = FormatShare(static_cast<double>(plan.Taken(largest)) / 90000);
    EXPECT_NE(PlanInALine(plan, 2).find("at most " + most), std::string::npos) << PlanInALine(plan, 2);
    EXPECT_NE(text.find("(" + most + ")"), std::string::npos) << most << " in\n" << text;
  }
}

TEST(Plan, OneLineHasTheModesTheRowsAndTheLargestShare) {
  const auto entry = [](const char* form, Mode mode, std::int64_t rows, double share,
                        std::int64_t micro_rows) {  // of 1 GiB
    return PlannedTask{.form = FormId(form),
                       .variant = "default",
                       .way = {mode, 0},
                       .rows = rows,
                       .micro_rows = micro_rows,
                       .predicted_peak = std::llround(share * (1 << 30))};
  };
  Plan plan{.budget = std::int64_t{1} << 30, .entries = {entry("canvas", Mode::kTwoStage, 24, 0.613, 24)}};
  EXPECT_EQ(PlanInALine(plan, 1), "1 task, two_stage, 24 rows a draw, at most 61.3 % of 1 GiB (canvas)");
  plan.entries.push_back(entry("qa", Mode::kJoint, 96, 0.2, 48));
  plan.entries.push_back(entry("zoom", Mode::kTwoStage, 32, 0.612, 32));
  EXPECT_EQ(PlanInALine(plan, 3),
            "3 tasks, joint or two_stage, 24 to 96 rows a draw (1 in micro-batches), at most 61.3 % of 1 GiB "
            "(canvas)");
  EXPECT_EQ(PlanInALine(plan, 2).substr(0, 18), "2 tasks in 3 forms");
  plan.entries.clear();
  EXPECT_EQ(PlanInALine(plan, 0), "0 tasks, none of which could be measured");
}

TEST(Plan, ATaskThatOverflowedTheMachineIsRefusedWithoutAGuess) {
  Profile profile = TwoTasks();
  ModeProfile overflowed;
  overflowed.more_than = 5000;
  profile.tasks[FormId("qa")].modes = {overflowed};
  const auto refusals = RefusalsOf(profile, {Ask("qa", 4)}, {.budget = 100000});
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals.front().change, "");
  EXPECT_NE(refusals.front().words.find("could be measured"), std::string::npos);
}

}  // namespace
}  // namespace medley
