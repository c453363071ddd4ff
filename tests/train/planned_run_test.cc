#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/memory/budget.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/meter.h>
#include <medley/memory/receipt.h>
#include <medley/train/run_planner.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/train/long_rows.h"
#include "tests/train/trainer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kPlenty = std::int64_t{1} << 30;

// The tiny run with tasks that know their longest rows, sampled when they are needed.
std::unique_ptr<TinyRun> MakeRun(const RunConfig& config, const std::map<std::string, RowHook>& hooks = {}) {
  RunConfig numbers = config;  // the mixer learns from the plan how many "auto" is
  for (auto& [name, task] : numbers.tasks) task.rows = std::max<std::int64_t>(1, task.rows);
  auto tiny = MakeTinyRun(numbers);
  tiny->run.config = config;
  int passes = 0;
  for (const char* name : {"one", "two", "three"}) {
    FixtureTask& task = tiny->tasks[name];
    const RowHook hook = hooks.count(name) > 0 ? hooks.at(name) : RowHook();
    ++passes;
    task.task = std::make_unique<LoadedTask>(
        *task.info, task.info->variants.front(), "fixture",
        std::make_unique<ScoredTask>(Script{.sample =
                                                [passes, hook](const RowRange& rows) {
                                                  if (hook) hook(rows);
                                                  return LongQaRows(rows, passes);
                                                },
                                            .run = QaPass},
                                     "q0"));
  }
  return tiny;
}

RunConfig PlannedConfig(std::int64_t steps, std::int64_t rows = 0) {
  RunConfig config = TinyConfig(steps);
  config.data.threads = 0;
  config.eval.every = 0;
  for (const char* name : {"one", "two", "three"}) config.tasks[name].rows = rows;
  return config;
}

class PlannedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    InstallCpuAllocator();
    at::set_num_threads(1);
  }
  void TearDown() override { SetCpuBudget(0); }

  RunPlanner Planner(TinyRun& tiny, std::int64_t budget, const std::string& words = "asked") {
    return RunPlanner(tiny.run, {.budget = budget, .budget_words = words, .probe_bytes = kPlenty}, *console_);
  }

  SilentConsole console_;
  ScratchDirectory scratch_;
};

std::int64_t InUse() { return ReadCpuMemory().now + ReadCpuMemory().data_now; }

Batch Longest(const LoadedTask& task, std::int64_t rows) {
  const MemoryOwnerScope data(MemoryOwner::kData);
  return task.Sample({.seed = 3, .begin = 0, .count = rows, .longest = true});
}

// Does one step of so many of the longest rows stay within the budget, what is planned for waiting rows left
// aside?
bool Runs(TinyRun& tiny, const Plan& plan, const PlanEntry& entry, std::int64_t rows) {
  LoadedTask& task = tiny.run.task(entry.task);
  const Batch batch = Longest(task, rows);
  const ExecutionPlan& execution = tiny.run.plans.at(entry.task);
  SetCpuBudget(plan.budget - plan.data_bytes + ReadCpuMemory().data_now);
  bool fits = true;
  try {
    tiny.run.executor->Run({{.task = &task, .batch = &batch, .plan = &execution}});
  } catch (const c10::OutOfMemoryError&) {
    fits = false;
    DrainEngine();
  }
  SetCpuBudget(0);
  for (const Parameter& parameter : tiny.run.model->parameters())
    at::Tensor(parameter.tensor).mutable_grad().reset();
  static_cast<FixtureModel&>(*tiny.run.model).seeds.clear();
  return fits;
}

TEST_F(PlannedRun, TheRowsOfThePlanRunAndOneMoreOverflowsUnderTwentyBudgets) {
  auto tiny = MakeRun(PlannedConfig(1));
  RunPlanner first = Planner(*tiny, InUse() + 3000000);
  first.PlanRun();
  first.Save(scratch_.path());
  for (int i = 0; i < 20; ++i) {
    // Above the second probe's rows: below, a chord is safe but not exact.
    RunPlanner planner = Planner(*tiny, InUse() + 250000 + i * i * 9000 + i * 777);
    planner.UseProfile(scratch_ / kProfileFile);
    const Plan& plan = planner.PlanRun();
    planner.Apply();
    EXPECT_EQ(planner.prober().steps(), 0) << "a new budget plans without probing";
    for (const PlanEntry& entry : plan.entries) {
      EXPECT_EQ(tiny->run.plans.at(entry.task).micro_rows, 0);
      EXPECT_TRUE(Runs(*tiny, plan, entry, entry.rows)) << entry.task << " " << entry.rows;
      EXPECT_FALSE(Runs(*tiny, plan, entry, entry.rows + 1)) << entry.task << " " << entry.rows;
    }
  }
}

TEST_F(PlannedRun, FixedRowsRunInTheLargestPiecesThatFit) {
  auto tiny = MakeRun(PlannedConfig(1, 60));
  for (int i = 0; i < 8; ++i) {
    const std::int64_t budget = InUse() + 75000 + i * 15000;
    RunPlanner planner = Planner(*tiny, budget);
    const Plan& plan = planner.PlanRun();
    planner.Apply();
    for (const PlanEntry& entry : plan.entries) {
      EXPECT_EQ(entry.rows, 60);
      EXPECT_TRUE(Runs(*tiny, plan, entry, 60)) << entry.task << " in " << entry.micro_rows;
      if (entry.micro_rows == 60) continue;
      // Fewer pieces do not fit.
      const std::int64_t pieces = (60 + entry.micro_rows - 1) / entry.micro_rows;
      tiny->run.plans.at(entry.task).micro_rows = (60 + pieces - 2) / (pieces - 1);
      EXPECT_FALSE(Runs(*tiny, plan, entry, 60)) << entry.task << " in " << entry.micro_rows;
    }
  }
}

TEST_F(PlannedRun, ProbingLeavesTheRunBitForBitAsItWas) {
  RunConfig config = TinyConfig(20);
  std::map<std::string, std::string> ends[2];
  for (const bool planned : {false, true}) {
    const auto tiny = MakeRun(config);
    if (planned) {
      RunPlanner planner = Planner(*tiny, kPlenty);
      planner.PlanRun();
      planner.Apply();
      EXPECT_GT(planner.prober().steps(), 0);
    }
    const std::filesystem::path directory = scratch_ / (planned ? "planned" : "plain");
    std::filesystem::create_directories(directory);
    Trainer trainer(tiny->run, directory, *console_);
    EXPECT_EQ(trainer.Train(), ExitCode::kDone);
    ends[planned] = EndState(directory);
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST_F(PlannedRun, ATightlyPlannedRunStaysWithinItsBudgetAndItsPrediction) {
  RunConfig config = PlannedConfig(60);
  config.data.threads = 1;
  config.tasks["two"].rows = 70;
  const auto tiny = MakeRun(config);
  const std::int64_t budget = InUse() + 120000;
  RunPlanner planner = Planner(*tiny, budget);
  const Plan& plan = planner.PlanRun();
  planner.Apply();
  EXPECT_LT(plan.Find("two")->micro_rows, 70);
  EXPECT_GT(plan.Find("one")->rows, plan.Find("three")->rows);
  SetCpuBudget(budget);
  Trainer trainer(tiny->run, scratch_.path(), *console_);
  EXPECT_EQ(trainer.Train(), ExitCode::kDone);
  SetCpuBudget(0);
  const auto json = nlohmann::ordered_json::parse(ReadText(scratch_ / kReceiptFile));
  const Receipt receipt = Receipt::FromJson(json);
  EXPECT_EQ(receipt.under(), 0);
  for (const char* task : {"one", "two", "three"}) {
    const PlanEpoch& epoch = receipt.tasks().at(task).at(0);
    EXPECT_EQ(epoch.predicted, plan.Find(task)->predicted_peak);
    EXPECT_EQ(epoch.rows, epoch.draws * plan.Find(task)->rows);
    EXPECT_GT(epoch.tokens, 0);
  }
}

TEST_F(PlannedRun, DrawsThatFindTheGradientsOfOthersArePlannedWithThem) {
  RunConfig config = PlannedConfig(40);
  config.draws_per_step = 3;
  const auto tiny = MakeRun(config);
  const std::int64_t budget = InUse() + 150000;
  RunPlanner planner = Planner(*tiny, budget);
  planner.PlanRun();
  planner.Apply();
  SetCpuBudget(budget);
  Trainer trainer(tiny->run, scratch_.path(), *console_);
  EXPECT_EQ(trainer.Train(), ExitCode::kDone);
  SetCpuBudget(0);
  const Receipt receipt = Receipt::FromJson(nlohmann::ordered_json::parse(ReadText(scratch_ / kReceiptFile)));
  EXPECT_EQ(receipt.under(), 0);
  EXPECT_EQ(receipt.tasks().size(), 3U);
}

TEST_F(PlannedRun, TheChangeThatARefusalNamesLetsTheRunFit) {
  RunConfig config = PlannedConfig(1, 60);
  config.tasks["two"].micro_rows = 50;
  config.tasks["three"].mode = "joint";
  auto tiny = MakeRun(config);
  RunPlanner roomy(tiny->run,
                   {.budget = kPlenty, .budget_words = "", .probe_bytes = kPlenty, .all_ways = true},
                   *console_);
  roomy.PlanRun();
  roomy.Save(scratch_.path());
  const auto planner_for = [&](std::int64_t budget) {
    RunPlanner planner = Planner(*tiny, budget);
    planner.UseProfile(scratch_ / kProfileFile);
    return planner;
  };
  for (std::int64_t extra = 1000; extra < 100000; extra = extra * 5 / 4) {
    const std::int64_t budget = InUse() + extra;
    std::vector<Refusal> refusals;
    try {
      planner_for(budget).PlanRun();
    } catch (const DoesNotFit& refusal) {
      EXPECT_EQ(refusal.code(), ExitCode::kDoesNotFit);
      refusals = refusal.refusals();
    }
    RunConfig mended = config;
    std::int64_t mended_budget = budget;
    for (const Refusal& refusal : refusals) {
      const auto value = refusal.change.substr(refusal.change.find('=') + 1);
      if (refusal.change.starts_with("budget=")) mended_budget = std::atoll(value.c_str());
      if (refusal.change.starts_with("tasks.two.micro_rows="))
        mended.tasks["two"].micro_rows = std::atoll(value.c_str());
      if (refusal.change.starts_with("tasks.three.mode=")) mended.tasks["three"].mode = value;
    }
    tiny->run.config = mended;
    RunPlanner planner = planner_for(mended_budget);
    ASSERT_NO_THROW(planner.PlanRun()) << extra;
    planner.Apply();
    for (const PlanEntry& entry : planner.plan().entries)
      EXPECT_TRUE(Runs(*tiny, planner.plan(), entry, entry.rows)) << entry.task << " with " << extra;
    tiny->run.config = config;
  }
}

TEST_F(PlannedRun, AResumedRunTakesItsPlanUpWithoutMeasuring) {
  const RunConfig config = PlannedConfig(1);
  auto tiny = MakeRun(config);
  const std::int64_t budget = InUse() + 200000;
  RunPlanner first = Planner(*tiny, budget, "200kB more");
  first.PlanRun();
  first.Save(scratch_.path());

  RunPlanner second = Planner(*tiny, budget + 5000, "200kB more");
  second.TakeUp(scratch_.path());
  second.PlanRun();
  EXPECT_EQ(second.prober().steps(), 0);
  EXPECT_EQ(ToJson(second.plan()), ToJson(first.plan()));

  RunPlanner other_budget = Planner(*tiny, budget + 50000, "250kB more");
  other_budget.TakeUp(scratch_.path());
  other_budget.PlanRun();
  EXPECT_EQ(other_budget.prober().steps(), 0);
  EXPECT_GT(other_budget.plan().Find("one")->rows, first.plan().Find("one")->rows);

  RunPlanner less_is_free = Planner(*tiny, budget - 50000, "200kB more");
  less_is_free.TakeUp(scratch_.path());
  EXPECT_LT(less_is_free.PlanRun().Find("one")->rows, first.plan().Find("one")->rows);
}

TEST_F(PlannedRun, ANewTaskMeasuresOnlyItselfAndCostsTheOthersNothing) {
  auto tiny = MakeRun(PlannedConfig(1));
  tiny->run.mixture.weights = {{"one", 5}, {"two", 3}, {"three", 0}};
  RunPlanner planner = Planner(*tiny, InUse() + 300000);
  const Plan before = planner.PlanRun();
  EXPECT_EQ(before.Find("three"), nullptr);
  const auto profile = ToJson(planner.profile())["tasks"];
  const std::int64_t steps = planner.prober().steps();
  const Plan& after = planner.AddTask("three");
  EXPECT_GT(planner.prober().steps(), steps);
  EXPECT_NE(after.Find("three"), nullptr);
  for (const char* task : {"one", "two"}) {
    EXPECT_EQ(ToJson(planner.profile())["tasks"][task], profile[task]);
    // Its rows wait too, and they are larger.
    const PlanEntry &now = *after.Find(task), &then = *before.Find(task);
    EXPECT_LE(now.rows, then.rows);
    EXPECT_GT(4 * now.rows, 3 * then.rows);
  }
}

TEST_F(PlannedRun, AProfileOfAnotherModelIsRefusedWithWhatDiffers) {
  auto tiny = MakeRun(PlannedConfig(1));
  RunPlanner planner = Planner(*tiny, InUse() + 300000);
  planner.PlanRun();
  planner.Save(scratch_.path());
  std::filesystem::remove(scratch_ / kPlanFile);  // it would still hold
  auto json = nlohmann::ordered_json::parse(ReadText(scratch_ / kProfileFile));
  json["key"]["model"] = "other.json (0123)";
  json["key"]["threads"] = 77;
  std::ofstream(scratch_ / kProfileFile) << json.dump();

  RunPlanner other = Planner(*tiny, InUse() + 300000);
  const std::string words = MessageOf<InputError>([&] { other.UseProfile(scratch_ / kProfileFile); });
  EXPECT_TRUE(Says(words, {kProfileFile, "model other.json (0123) -> ", "threads 77 -> ", "--profile"}));
  other.TakeUp(scratch_.path());  // the run's own is only said to be stale
  EXPECT_TRUE(Says(console_.words(), {"no longer holds", "other.json"}));
  other.PlanRun();
  EXPECT_GT(other.prober().steps(), 0);
}

TEST_F(PlannedRun, ADamagedProfileOfTheRunsOwnIsMeasuredAnew) {
  auto tiny = MakeRun(PlannedConfig(1));
  std::ofstream(scratch_ / kProfileFile) << "{";
  RunPlanner planner = Planner(*tiny, InUse() + 300000);
  planner.TakeUp(scratch_.path());
  EXPECT_TRUE(Says(console_.words(), {"planned anew"}));
  EXPECT_NO_THROW(planner.PlanRun());
}

TEST_F(PlannedRun, ATaskThatFailsIsNamedOrLeftForItsFirstDraw) {
  const RowHook fails = [](const RowRange&) { throw Error("no such scene"); };
  RunConfig config = PlannedConfig(1, 5);
  auto tiny = MakeRun(config, {{"two", fails}});
  EXPECT_TRUE(Says(MessageOf([&] { Planner(*tiny, InUse() + 300000).PlanRun(); }), {"two", "no such scene"}));
  config.on_task_error = "drop";
  tiny->run.config = config;
  RunPlanner planner = Planner(*tiny, InUse() + 300000);
  const Plan& plan = planner.PlanRun();
  EXPECT_EQ(plan.Find("two"), nullptr);
  EXPECT_NE(plan.Find("three"), nullptr);
  EXPECT_TRUE(Says(console_.words(), {"two has no plan", "no such scene"}));
}

TEST_F(PlannedRun, ABudgetBelowTheWeightsIsRefusedWithWhatIsNeeded) {
  auto tiny = MakeRun(PlannedConfig(1, 4));
  const std::string words = MessageOf([&] { Planner(*tiny, 100).PlanRun(); });
  EXPECT_TRUE(Says(words, {"weights", "optimizer", "more than the budget", "budget="}));
}

}  // namespace
}  // namespace medley
