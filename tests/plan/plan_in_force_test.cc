#include <medley/plan/plan_in_force.h>

#include "tests/plan/plan_fixture.h"

namespace medley {
namespace {

using namespace plan_fixture;

constexpr std::int64_t kFloor = 3100 + 40;  // of TwoTasks, with the tables of qa
constexpr std::int64_t kPlenty = 1000000;

// A stage in which the task's draws have other rows.
Stage OtherRows(const std::string& task, std::int64_t rows) {
  Stage stage;
  stage.weights = {{"qa", 1}, {"canvas", 1}};
  stage.set.tasks[task].rows = rows;
  return stage;
}

FormTable FormsOf(std::vector<Stage> stages) {
  Curriculum curriculum;
  curriculum.stages = std::move(stages);
  return {RunConfig(), curriculum};
}

// What TwoTasks gives a run of 16 rows a draw.
class PlanInForceTest : public ::testing::Test {
 protected:
  Plan Planned(const TaskRequest& request, std::int64_t budget = kPlenty) {
    setting_.budget = budget;
    return MakePlan(profile_, {request}, setting_);
  }
  // By a plan with as many rows of 16 at once.
  void Adopt(std::int64_t micro_rows) {
    TaskRequest request = Ask("qa", 16);
    request.micro_rows = micro_rows;
    in_force_.Adopt(Planned(request), profile_, setting_);
  }
  const Execution& qa() const { return in_force_.Of("qa"); }

  Profile profile_ = TwoTasks();
  PlanSetting setting_{.budget = kPlenty};
  Stage second_ = OtherRows("qa", 8);
  FormTable forms_ = FormsOf({second_});
  const Form& changed_ = forms_.Of(second_, "qa");
  PlanInForce in_force_{forms_,
                        {{FormId("canvas"), {.way = {Mode::kJoint}, .micro_rows = 3}},
                         {FormId("qa"), {.way = {Mode::kJoint, 1}, .term_weights = {{"size", 0.5}}}},
                         {changed_.id, {.way = {Mode::kJoint}, .micro_rows = 8}}}};
};

TEST_F(PlanInForceTest, IsWhatWasConfiguredUntilSomethingIsPlanned) {
  EXPECT_EQ(in_force_.executions().size(), 3u);
  EXPECT_EQ(in_force_.FormOf("qa").id, FormId("qa"));
  EXPECT_EQ(qa().way, (Way{Mode::kJoint, 1}));
  EXPECT_EQ(qa().micro_rows, 0);
  EXPECT_FALSE(in_force_.expected());
  EXPECT_FALSE(in_force_.IsCut("qa"));
}

TEST_F(PlanInForceTest, AnAdoptedPlanRulesItsTasksAndLeavesOthersAndWeightsAlone) {
  const Plan plan = Planned(Ask("qa", 16), kFloor + 2000 + 9 * 1000 + 500);
  ASSERT_EQ(plan.entries.at(0).micro_rows, 8);
  in_force_.Adopt(plan, profile_, setting_);
  EXPECT_EQ(qa().way, (Way{Mode::kSequential, 0}));
  EXPECT_EQ(qa().micro_rows, 8);
  EXPECT_EQ(qa().term_weights.at("size"), 0.5);
  EXPECT_EQ(in_force_.Of("canvas").micro_rows, 3);
  EXPECT_EQ(in_force_.Of("canvas").way, (Way{Mode::kJoint, 0}));
  in_force_.Adopt(Planned(Ask("qa", 16)), profile_, setting_);
  EXPECT_EQ(qa().micro_rows, 0) << "all rows of a draw, however many a later draw has";
}

TEST_F(PlanInForceTest, SaysWhatARowTakesWhereThatWasCounted) {
  EXPECT_EQ(in_force_.OperationsOf("qa"), std::nullopt) << "nothing is planned";
  in_force_.Adopt(Planned(Ask("qa", 16)), profile_, setting_);
  EXPECT_EQ(in_force_.OperationsOf("qa"), std::nullopt) << "nobody counted";
  profile_ = CountedTasks();
  in_force_.Adopt(Planned(Ask("qa", 16)), profile_, setting_);
  EXPECT_EQ(in_force_.OperationsOf("qa"), 90);
  in_force_.Adopt(Planned(Ask("qa", 16), kFloor + 1000 + 16 * 1000), profile_, setting_);
  EXPECT_EQ(in_force_.OperationsOf("qa"), 100);
  EXPECT_EQ(in_force_.OperationsOf("canvas"), std::nullopt);
}

TEST_F(PlanInForceTest, TheGuardMayExpectWhatThePlanSays) {
  setting_.counts_exactly = false;
  const Plan plan = Planned(Ask("qa", 16), std::int64_t{1} << 40);
  in_force_.Adopt(plan, profile_, setting_);
  ASSERT_TRUE(in_force_.expected());
  EXPECT_EQ(in_force_.expected()->floor, plan.floor_bytes());
  EXPECT_EQ(in_force_.expected()->peaks,
            (std::map<std::string, std::int64_t>{{"qa", plan.entries.at(0).predicted_peak}}));
  EXPECT_EQ(in_force_.expected()->margins.at("qa"), plan.entries.at(0).ledger.margin);
  EXPECT_GT(in_force_.expected()->margins.at("qa"), 0);
}

TEST_F(PlanInForceTest, ACutStaysWhereTheMicroRowsAreWhatTheyWere) {
  Adopt(8);
  const auto change = in_force_.Cut("qa", 16);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->task, "qa");
  EXPECT_EQ(change->from, 8);
  EXPECT_EQ(change->to, 4);
  ASSERT_TRUE(in_force_.Cut("qa", 16));
  const nlohmann::json cuts = in_force_.Save();
  Adopt(8);
  EXPECT_EQ(qa().micro_rows, 2);
  EXPECT_TRUE(in_force_.IsCut("qa"));
  EXPECT_EQ(in_force_.Save(), cuts) << "and its patience";
}

TEST_F(PlanInForceTest, ACutGoesWhereTheMicroRowsChange) {
  Adopt(8);
  ASSERT_TRUE(in_force_.Cut("qa", 16));
  Adopt(6);
  EXPECT_EQ(qa().micro_rows, 6);
  EXPECT_FALSE(in_force_.IsCut("qa"));
  EXPECT_TRUE(in_force_.Save().empty());
  Adopt(8);
  EXPECT_EQ(qa().micro_rows, 8) << "and does not come back";
}

// As many rows at once in another mode are another plan.
TEST_F(PlanInForceTest, ACutGoesWhereTheWayChanges) {
  Adopt(8);
  ASSERT_TRUE(in_force_.Cut("qa", 16));
  TaskRequest request = Ask("qa", 16);
  request.micro_rows = 8;
  request.recomputed = 1;
  in_force_.Adopt(Planned(request), profile_, setting_);
  EXPECT_EQ(qa().way, (Way{Mode::kSequential, 1}));
  EXPECT_EQ(qa().micro_rows, 8);
  EXPECT_FALSE(in_force_.IsCut("qa"));
}

TEST_F(PlanInForceTest, ACutTaskThatRecomputesAPartOfItsLayersIsPredicted) {
  ModeProfile part = ModeOf(Mode::kSequential, 600, 1000);
  part.way.recomputed = {2, 3};
  profile_.tasks.at(FormId("qa")).modes.push_back(part);
  TaskRequest request = Ask("qa", 16);
  request.recomputed = RecomputedLayers(2, 3);
  in_force_.Adopt(Planned(request), profile_, setting_);
  const std::int64_t whole = in_force_.Predict("qa", 16).peak;
  ASSERT_TRUE(in_force_.Cut("qa", 16));
  EXPECT_EQ(in_force_.Predict("qa", 8).peak, whole - 10600 + 6800);
}

TEST_F(PlanInForceTest, APlanOfOneTaskLeavesTheCutsOfOthers) {
  ASSERT_TRUE(in_force_.Cut("canvas", 3));
  Adopt(8);
  EXPECT_EQ(in_force_.Of("canvas").micro_rows, 2);
  EXPECT_TRUE(in_force_.IsCut("canvas"));
}

TEST_F(PlanInForceTest, PredictsNothingWithoutAPlan) {
  for (const char* task : {"qa", "canvas", "nobody"}) {
    const PeakPrediction prediction = in_force_.Predict(task, 4);
    EXPECT_EQ(prediction.peak, 0) << task;
    EXPECT_EQ(prediction.margin, 0) << task;
  }
}

TEST_F(PlanInForceTest, PredictsWhatThePlanSaysAndOfACutTaskWhatItsLinesSay) {
  Adopt(8);
  EXPECT_EQ(in_force_.Predict("qa", 8).peak, kFloor + 2000 + 8 * 1000);
  EXPECT_EQ(in_force_.Predict("canvas", 3).peak, 0) << "was not planned";
  ASSERT_TRUE(in_force_.Cut("qa", 16));
  EXPECT_EQ(in_force_.Predict("qa", 4).peak, kFloor + 2000 + 4 * 1000);
  EXPECT_EQ(in_force_.Predict("qa", 4).margin, 0);
  EXPECT_EQ(in_force_.Predict("canvas", 3).peak, 0);
  ASSERT_TRUE(in_force_.Cut("canvas", 3));
  EXPECT_EQ(in_force_.Predict("canvas", 2).peak, 0) << "no line";
}

TEST_F(PlanInForceTest, ATaskThatGrewBackIsPredictedByThePlanAgain) {
  Adopt(0);
  ASSERT_TRUE(in_force_.Cut("qa", 16));
  std::vector<PlanInForce::Change> changes;
  for (int step = 0; step < 32; ++step) {
    EXPECT_TRUE(changes.empty()) << "too early";
    changes = in_force_.Fitted({{"qa", 16 * step, 16}});
  }
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].from, 8);
  EXPECT_EQ(changes[0].to, 16);
  EXPECT_EQ(qa().micro_rows, 0);
  EXPECT_FALSE(in_force_.IsCut("qa"));
  EXPECT_EQ(in_force_.Predict("qa", 16).peak, kFloor + 1000 + 16 * 1000);
}

TEST_F(PlanInForceTest, TasksRunInTheFormsOfTheStageThatWasTaken) {
  EXPECT_TRUE(in_force_.TakeForms(second_));
  EXPECT_FALSE(in_force_.TakeForms(second_)) << "they did already";
  EXPECT_EQ(in_force_.FormOf("qa").id, changed_.id);
  EXPECT_EQ(in_force_.FormOf("qa").settings.rows, 8);
  EXPECT_EQ(in_force_.FormOf("canvas").id, FormId("canvas"));
  EXPECT_EQ(qa().micro_rows, 8);
  EXPECT_TRUE(in_force_.TakeForms(Stage()));
  EXPECT_EQ(in_force_.FormOf("qa").id, FormId("qa"));
  EXPECT_EQ(qa().micro_rows, 0);
  EXPECT_EQ(in_force_.IdOf("gone"), FormId("gone"));
  EXPECT_THROW(in_force_.FormOf("gone"), Error);
}

TEST_F(PlanInForceTest, EachFormHasAPlanAndCutsOfItsOwn) {
  Adopt(8);
  TaskRequest request = Ask("qa", 8);
  request.form = changed_;
  profile_.tasks[changed_.id] = profile_.tasks.at(FormId("qa"));
  const Plan plan = MakePlan(profile_, {Ask("qa", 16), request}, setting_);
  in_force_.Adopt(plan, profile_, setting_);
  ASSERT_TRUE(in_force_.Cut("qa", 16));
  EXPECT_EQ(in_force_.RowsOf("qa"), 16);
  in_force_.TakeForms(second_);
  EXPECT_FALSE(in_force_.IsCut("qa"));
  EXPECT_EQ(in_force_.RowsOf("qa"), 8);
  EXPECT_EQ(in_force_.expected()->peaks,
            (std::map<std::string, std::int64_t>{{"qa", plan.Find(changed_.id)->predicted_peak}}));
  const nlohmann::json cuts = in_force_.Save();
  EXPECT_TRUE(cuts.contains("qa") && cuts.size() == 1) << cuts;
}

TEST_F(PlanInForceTest, OneRowIsNotCut) {
  Adopt(1);
  EXPECT_FALSE(in_force_.Cut("qa", 16));
  EXPECT_FALSE(in_force_.IsCut("qa"));
  EXPECT_EQ(qa().micro_rows, 1);
}

}  // namespace
}  // namespace medley
