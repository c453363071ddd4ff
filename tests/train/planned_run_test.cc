#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/memory/budget.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/meter.h>
#include <medley/plan/receipt.h>
#include <medley/plan/run_planner.h>
#include <medley/step/abandon.h>
#include <medley/train/table_room.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "tests/plan/long_rows.h"
#include "tests/train/trainer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kPlenty = std::int64_t{1} << 30;

using RowsHook = std::function<void(std::int64_t rows)>;

// The tiny run with tasks that know their longest rows, sampled when they are needed. `in_pass` runs in every
// pass, at its beginning. `cache`: bytes of each task.
std::unique_ptr<TinyRun> MakeRun(const RunConfig& config, const std::map<std::string, RowHook>& hooks = {},
                                 const RowsHook& in_pass = {}, std::int64_t cache = 0) {
  auto tiny = MakeTinyRun(config);
  int passes = 0;
  for (const char* name : {"one", "two", "three"}) {
    FixtureTask& task = tiny->tasks()[name];
    const RowHook hook = hooks.count(name) > 0 ? hooks.at(name) : RowHook();
    ++passes;
    task.task = std::make_unique<LoadedTask>(
        *task.info, task.info->variants.front(), "fixture",
        std::make_unique<ScoredTask>(Script{.sample =
                                                [passes, hook](const RowRange& rows) {
                                                  if (hook) hook(rows);
                                                  return LongQaRows(rows, passes);
                                                },
                                            .run =
                                                [in_pass](const std::string& pass, PassContext& context) {
                                                  if (in_pass) in_pass(context.batch().size());
                                                  return QaPass(pass, context);
                                                },
                                            .cache = cache},
                                     "q0"));
  }
  return tiny;
}

RunConfig PlannedConfig(std::int64_t steps, std::int64_t rows = 0) {
  RunConfig config = TinyConfig(steps);
  config.data.threads = 0;
  config.eval.every = 0;
  config.balance = 0;  // rows are as many as fit
  for (const char* name : {"one", "two", "three"}) config.tasks[name].rows = rows;
  return config;
}

class PlannedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    InstallCpuAllocator();
    at::set_num_threads(1);
  }
  void TearDown() override { SetCpuBudget(0); }

  RunPlanner Planner(TinyRun& tiny, std::int64_t budget, const std::string& words = "asked") {
    return Planner(tiny, {.budget = budget, .budget_words = words, .probe_bytes = kPlenty});
  }
  RunPlanner Planner(TinyRun& tiny, RunPlanner::Setting setting) {
    return RunPlanner(FormMeasurer::PartsOf(tiny.run), tiny.run.curriculum, std::move(setting), *console_);
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
bool Runs(TinyRun& tiny, const Plan& plan, const PlannedTask& entry, std::int64_t rows,
          std::optional<std::int64_t> micro_rows = std::nullopt) {
  const std::string& name = tiny.run.forms.At(entry.form).task;
  LoadedTask& task = tiny.task(name);
  const Batch batch = Longest(task, rows);
  Execution execution = tiny.plan().Of(name);
  execution.micro_rows = micro_rows.value_or(execution.micro_rows);
  TableRoom tables(at::kCPU, *tiny.host, tiny.plan());
  tables.MakeRoom(name);
  SetCpuBudget(plan.budget - plan.data_bytes + ReadCpuMemory().data_now);
  tables.Restore(name);
  bool fits = true;
  try {
    tiny.run.executor->Run({{.task = &task, .batch = &batch, .execution = &execution}});
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
  first.PlanRun(tiny->run.NamedForms());
  first.Save(scratch_.path());
  for (int i = 0; i < 20; ++i) {
    // Above the second probe's rows: below, a chord is safe but not exact.
    RunPlanner planner = Planner(*tiny, InUse() + 250000 + i * i * 9000 + i * 777);
    planner.UseProfile(scratch_ / kProfileFile);
    const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
    planner.Apply(tiny->plan(), *tiny->run.mixer);
    EXPECT_EQ(planner.prober().steps(), 0) << "a new budget plans without probing";
    for (const PlannedTask& entry : plan.entries) {
      EXPECT_EQ(tiny->plan().executions().at(entry.form).micro_rows, 0);
      EXPECT_TRUE(Runs(*tiny, plan, entry, entry.rows)) << entry.form.text() << " " << entry.rows;
      EXPECT_FALSE(Runs(*tiny, plan, entry, entry.rows + 1)) << entry.form.text() << " " << entry.rows;
    }
  }
}

TEST_F(PlannedRun, FixedRowsRunInTheLargestPiecesThatFit) {
  auto tiny = MakeRun(PlannedConfig(1, 60));
  for (int i = 0; i < 8; ++i) {
    const std::int64_t budget = InUse() + 75000 + i * 15000;
    RunPlanner planner = Planner(*tiny, budget);
    const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
    planner.Apply(tiny->plan(), *tiny->run.mixer);
    for (const PlannedTask& entry : plan.entries) {
      EXPECT_EQ(entry.rows, 60);
      EXPECT_TRUE(Runs(*tiny, plan, entry, 60)) << entry.form.text() << " in " << entry.micro_rows;
      if (entry.micro_rows == 60) continue;
      // Fewer pieces do not fit.
      const std::int64_t pieces = (60 + entry.micro_rows - 1) / entry.micro_rows;
      EXPECT_FALSE(Runs(*tiny, plan, entry, 60, (60 + pieces - 2) / (pieces - 1)))
          << entry.form.text() << " in " << entry.micro_rows;
    }
  }
}

TEST_F(PlannedRun, ATaskThatComesLaterIsPlannedWithoutMovingTheOthers) {
  RunConfig config = PlannedConfig(1);
  config.tasks["one"].rows = config.tasks["two"].rows = 20;  // which leaves room for another's tables
  auto tiny = MakeRun(config);
  const std::int64_t budget = InUse() + 400000;
  RunPlanner planner = Planner(*tiny, budget);
  const Plan before = planner.PlanRun(tiny->Own({"one", "two"}));
  planner.Apply(tiny->plan(), *tiny->run.mixer);
  ASSERT_EQ(before.Find(FormId("three")), nullptr);
  const std::int64_t steps = planner.prober().steps();
  const Plan& after = planner.PlanForm(tiny->run.forms.Own("three"));
  EXPECT_GT(planner.prober().steps(), steps);
  const std::int64_t tables = after.floor.constants - before.floor.constants;
  for (const char* task : {"one", "two"}) {
    EXPECT_EQ(after.Find(FormId(task))->rows, before.Find(FormId(task))->rows) << task;
    EXPECT_EQ(after.Find(FormId(task))->micro_rows, before.Find(FormId(task))->micro_rows) << task;
    EXPECT_EQ(after.Find(FormId(task))->way, before.Find(FormId(task))->way) << task;
    EXPECT_EQ(after.Find(FormId(task))->predicted_peak, before.Find(FormId(task))->predicted_peak + tables)
        << task;
  }
  EXPECT_GT(after.Find(FormId("three"))->rows, 0);
  planner.Apply(tiny->plan(), *tiny->run.mixer);
  EXPECT_TRUE(Runs(*tiny, after, *after.Find(FormId("three")), after.Find(FormId("three"))->rows));
  // It knows it now, and nobody is measured again.
  const std::int64_t enough = planner.prober().steps();
  EXPECT_EQ(planner.PlanForm(tiny->run.forms.Own("three")).entries.size(), 3u);
  EXPECT_EQ(planner.prober().steps(), enough);
}

TEST_F(PlannedRun, TheUsualRowsAreFixedWhenTheRunBegins) {
  RunConfig config = PlannedConfig(1);
  config.balance = 1;
  config.tasks["two"].rows = 9000;  // whose waiting rows leave room for those of all others
  config.tasks["two"].micro_rows = 50;
  auto tiny = MakeRun(config);
  RunPlanner first = Planner(*tiny, InUse() + 3930000);
  const Plan& full = first.PlanRun(tiny->Own({"one", "two"}));
  const std::int64_t usual = full.usual_rows;
  EXPECT_EQ(usual, full.Find(FormId("one"))->rows);
  // Not one more row of one, but the tables of three.
  const std::int64_t budget = full.Taken(*full.Find(FormId("one"))) + 150;
  RunPlanner planner = Planner(*tiny, budget);
  planner.PlanRun(tiny->Own({"one", "two"}));
  planner.Save(scratch_.path());
  RunPlanner resumed = Planner(*tiny, budget);
  resumed.TakeUp(scratch_.path());
  for (const Plan& plan :
       {planner.PlanForm(tiny->run.forms.Own("three")), resumed.PlanRun(tiny->Own({"two", "three"}))}) {
    EXPECT_EQ(plan.usual_rows, usual);
    EXPECT_EQ(plan.Find(FormId("three"))->rows, usual);
    EXPECT_GT(plan.Find(FormId("three"))->own_rows, 0);
    EXPECT_LT(plan.Find(FormId("three"))->own_rows, usual);
    EXPECT_LE(plan.Taken(*plan.Find(FormId("three"))), budget) << "with two's waiting rows";
  }
  EXPECT_EQ(planner.plan().Find(FormId("one"))->own_rows, 0);
  EXPECT_EQ(planner.plan().Find(FormId("one"))->rows, usual);
}

// As where a resume's config has other rows for a form that an edit brought.
TEST_F(PlannedRun, AFormThatComesAgainWithOtherSettingsTakesItsOwnPlace) {
  RunConfig config = PlannedConfig(1);
  for (const char* task : {"one", "two", "three"}) config.tasks[task].rows = 20;
  auto tiny = MakeRun(config);
  RunPlanner planner = Planner(*tiny, InUse() + 400000);
  const std::int64_t alone = planner.PlanRun(tiny->Own({"one", "two"})).floor.constants;
  const Plan before = planner.PlanForm(tiny->run.forms.Own("three"));
  ASSERT_GT(before.floor.constants, alone);
  Form other = tiny->run.forms.Own("three");
  other.settings.rows = 3;
  const Plan after = planner.PlanForm(other);
  EXPECT_EQ(after.Find(FormId("three"))->rows, 3);
  EXPECT_EQ(after.entries.size(), 3u);
  EXPECT_EQ(after.floor.constants, before.floor.constants) << "its tables are there once";
  for (const char* task : {"one", "two"})
    EXPECT_EQ(after.Find(FormId(task))->predicted_peak, before.Find(FormId(task))->predicted_peak) << task;
  other.settings.rows = other.settings.micro_rows = 400000;
  EXPECT_THROW(planner.PlanForm(other), DoesNotFit);
  EXPECT_EQ(ToJson(planner.plan()), ToJson(after)) << "it keeps what it had";
}

TEST_F(PlannedRun, TheCacheOfEachTaskIsCountedOnceWheneverItComes) {
  constexpr std::int64_t kCache = 5000;
  RunConfig config = PlannedConfig(1);
  for (const char* task : {"one", "two", "three"}) config.tasks[task].rows = 20;
  auto tiny = MakeRun(config, {}, {}, kCache);
  RunPlanner planner = Planner(*tiny, InUse() + 400000 + 3 * kCache);
  EXPECT_EQ(planner.PlanRun(tiny->Own({"one", "two"})).cache_bytes, 2 * kCache);
  const Plan before = planner.PlanForm(tiny->run.forms.Own("three"));
  EXPECT_EQ(before.cache_bytes, 3 * kCache);
  Form other = tiny->run.forms.Own("three");
  other.settings.rows = 3;
  const Plan after = planner.PlanForm(other);
  EXPECT_EQ(after.cache_bytes, 3 * kCache);
  EXPECT_EQ(after.data_bytes, before.data_bytes);
  planner.Save(scratch_.path());
  RunPlanner resumed = Planner(*tiny, InUse() + 400000 + 3 * kCache);
  resumed.UseProfile(scratch_ / kProfileFile);
  EXPECT_EQ(resumed.PlanRun(tiny->Own({"one", "two", "three"})).cache_bytes, 3 * kCache) << "by the profile";
}

TEST_F(PlannedRun, ATaskThatComesLaterAndDoesNotFitLeavesThePlanAsItIs) {
  auto tiny = MakeRun(PlannedConfig(1));
  const std::int64_t in_use = InUse();
  RunPlanner roomy = Planner(*tiny, kPlenty);
  roomy.PlanRun(tiny->Own({"one"}));
  // Just what task one needs for a single row, and less than three's passes need.
  const Profile& profile = roomy.profile();
  const std::int64_t single = PeakLines(profile.tasks.at(FormId("one")).modes.at(0).whole).At(1);
  Form large = tiny->run.forms.Own("three");
  large.settings.rows = large.settings.micro_rows = 4000;
  RunPlanner planner = Planner(*tiny, in_use + 20 * single);
  const Plan before = planner.PlanRun(tiny->Own({"one"}));
  EXPECT_THROW(planner.PlanForm(large), DoesNotFit);
  EXPECT_EQ(ToJson(planner.plan()), ToJson(before));
  const std::int64_t steps = planner.prober().steps();
  EXPECT_THROW(planner.PlanForm(large), DoesNotFit);
  EXPECT_EQ(planner.prober().steps(), steps) << "what was measured stays known";
}

TEST_F(PlannedRun, ProbingLeavesTheRunBitForBitAsItWas) {
  RunConfig config = TinyConfig(20);
  std::map<std::string, std::string> ends[2];
  for (const bool planned : {false, true}) {
    const auto tiny = MakeRun(config);
    if (planned) {
      RunPlanner planner = Planner(*tiny, kPlenty);
      planner.PlanRun(tiny->run.NamedForms());
      planner.Apply(tiny->plan(), *tiny->run.mixer);
      EXPECT_GT(planner.prober().steps(), 0);
    }
    const std::filesystem::path directory = scratch_ / (planned ? "planned" : "plain");
    std::filesystem::create_directories(directory);
    TestTrainer trainer(*tiny, directory, *console_);
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
  const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
  planner.Apply(tiny->plan(), *tiny->run.mixer);
  EXPECT_LT(plan.Find(FormId("two"))->micro_rows, 70);
  EXPECT_GT(plan.Find(FormId("one"))->rows, plan.Find(FormId("three"))->rows);
  SetCpuBudget(budget);
  TestTrainer trainer(*tiny, scratch_.path(), *console_);
  EXPECT_EQ(trainer.Train(), ExitCode::kDone);
  SetCpuBudget(0);
  const auto json = nlohmann::ordered_json::parse(ReadText(scratch_ / kReceiptFile));
  const Receipt receipt = Receipt::FromJson(json);
  EXPECT_EQ(receipt.under(), 0);
  for (const char* task : {"one", "two", "three"}) {
    const PlanEpoch& epoch = receipt.forms().at(FormId(task)).at(0);
    EXPECT_EQ(epoch.predicted, plan.Find(FormId(task))->predicted_peak);
    EXPECT_EQ(epoch.rows, epoch.draws * plan.Find(FormId(task))->rows);
    EXPECT_GT(epoch.tokens_run, 0);
  }
}

TEST_F(PlannedRun, AnOverflowIsAnUnderEstimateInTheReceiptAndTheCutDrawsHaveAPredictionOfTheirOwn) {
  const auto tiny = MakeRun(PlannedConfig(40, 40));
  int left = -1;  // passes of whole draws; a draw has two
  Script script{.sample = [](const RowRange& rows) { return LongQaRows(rows, 2); },
                .run =
                    [&](const std::string& pass, PassContext& context) {
                      if (context.batch().size() == 40 && --left == 0) FailCpuAllocation(5);
                      return QaPass(pass, context);
                    }};
  FixtureTask& two = tiny->tasks().at("two");
  two.task = std::make_unique<LoadedTask>(*two.info, two.info->variants.front(), "fixture",
                                          std::make_unique<ScoredTask>(std::move(script), "q0"));
  RunPlanner planner = Planner(*tiny, kPlenty);
  const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
  planner.Apply(tiny->plan(), *tiny->run.mixer);
  ASSERT_EQ(tiny->plan().Of("two").micro_rows, 0) << "all rows at once";
  left = 5;
  TestTrainer trainer(*tiny, scratch_.path(), *console_);
  EXPECT_EQ(trainer.Train(), ExitCode::kDone) << console_.words();
  FailCpuAllocation(0);
  const Receipt receipt = Receipt::FromJson(nlohmann::ordered_json::parse(ReadText(scratch_ / kReceiptFile)));
  EXPECT_EQ(receipt.under(), 1);
  const std::vector<PlanEpoch>& epochs = receipt.forms().at(FormId("two"));
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_FALSE(epochs[0].cut);
  EXPECT_EQ(epochs[0].predicted, plan.Find(FormId("two"))->predicted_peak);
  EXPECT_EQ(epochs[0].draws, 2);
  EXPECT_EQ(epochs[0].overflows, 1);
  EXPECT_EQ(epochs[0].under, 1);
  EXPECT_TRUE(epochs[1].cut);
  EXPECT_EQ(epochs[1].micro_rows, 20);
  EXPECT_EQ(epochs[1].predicted, tiny->plan().Predict("two", 20).peak);
  EXPECT_LT(epochs[1].predicted, epochs[0].predicted);
  EXPECT_EQ(epochs[1].under, 0);
  EXPECT_GT(epochs[1].draws, 0);
  EXPECT_EQ(epochs[0].rows + epochs[1].rows, tiny->run.mixer->Shares().at("two").rows) << "every row once";
  EXPECT_EQ(tiny->plan().Predict("two", 40).peak, epochs[0].predicted) << "the plan's own";
  EXPECT_TRUE(Says(ReceiptTable(receipt), {"OVERFLOWED: task two ran out of memory 1 time",
                                           "draws in smaller micro-batches, after an overflow: 0 above"}));
}

TEST_F(PlannedRun, DrawsThatFindTheGradientsOfOthersArePlannedWithThem) {
  RunConfig config = PlannedConfig(40);
  config.draws_per_step = 3;
  const auto tiny = MakeRun(config);
  const std::int64_t budget = InUse() + 150000;
  RunPlanner planner = Planner(*tiny, budget);
  planner.PlanRun(tiny->run.NamedForms());
  planner.Apply(tiny->plan(), *tiny->run.mixer);
  SetCpuBudget(budget);
  TestTrainer trainer(*tiny, scratch_.path(), *console_);
  EXPECT_EQ(trainer.Train(), ExitCode::kDone);
  SetCpuBudget(0);
  const Receipt receipt = Receipt::FromJson(nlohmann::ordered_json::parse(ReadText(scratch_ / kReceiptFile)));
  EXPECT_EQ(receipt.under(), 0);
  EXPECT_EQ(receipt.forms().size(), 3U);
}

TEST_F(PlannedRun, TheChangeThatARefusalNamesLetsTheRunFit) {
  RunConfig config = PlannedConfig(1, 60);
  config.tasks["two"].micro_rows = 50;
  config.tasks["three"].mode = "joint";
  auto tiny = MakeRun(config);
  RunPlanner roomy =
      Planner(*tiny, {.budget = kPlenty, .budget_words = "", .probe_bytes = kPlenty, .all_ways = true});
  roomy.PlanRun(tiny->run.NamedForms());
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
      planner_for(budget).PlanRun(tiny->run.NamedForms());
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
    RunPlanner planner = planner_for(mended_budget);
    ASSERT_NO_THROW(planner.PlanRun(FormTable(mended).Named(tiny->run.curriculum))) << extra;
    planner.Apply(tiny->plan(), *tiny->run.mixer);
    for (const PlannedTask& entry : planner.plan().entries)
      EXPECT_TRUE(Runs(*tiny, planner.plan(), entry, entry.rows)) << entry.form.text() << " with " << extra;
  }
}

TEST_F(PlannedRun, AResumedRunTakesItsPlanUpWithoutMeasuring) {
  const RunConfig config = PlannedConfig(1);
  auto tiny = MakeRun(config);
  const std::int64_t budget = InUse() + 200000;
  RunPlanner first = Planner(*tiny, budget, "200kB more");
  first.PlanRun(tiny->run.NamedForms());
  first.Save(scratch_.path());

  RunPlanner second = Planner(*tiny, budget + 5000, "200kB more");
  second.TakeUp(scratch_.path());
  second.PlanRun(tiny->run.NamedForms());
  EXPECT_EQ(second.prober().steps(), 0);
  EXPECT_EQ(ToJson(second.plan()), ToJson(first.plan()));

  RunPlanner other_budget = Planner(*tiny, budget + 50000, "250kB more");
  other_budget.TakeUp(scratch_.path());
  other_budget.PlanRun(tiny->run.NamedForms());
  EXPECT_EQ(other_budget.prober().steps(), 0);
  EXPECT_GT(other_budget.plan().Find(FormId("one"))->rows, first.plan().Find(FormId("one"))->rows);

  RunPlanner less_is_free = Planner(*tiny, budget - 50000, "200kB more");
  less_is_free.TakeUp(scratch_.path());
  EXPECT_LT(less_is_free.PlanRun(tiny->run.NamedForms()).Find(FormId("one"))->rows,
            first.plan().Find(FormId("one"))->rows);
}

// As when the weights file of a run is edited before it is resumed.
TEST_F(PlannedRun, ANewTaskMeasuresOnlyItselfAndCostsTheOthersNothing) {
  auto tiny = MakeRun(PlannedConfig(1));
  tiny->run.curriculum = OneStage({{"one", 5}, {"two", 3}, {"three", 0}});
  const std::int64_t budget = InUse() + 300000;
  RunPlanner first = Planner(*tiny, budget);
  const Plan before = first.PlanRun(tiny->run.NamedForms());
  EXPECT_EQ(before.Find(FormId("three")), nullptr);
  first.Save(scratch_.path());
  const auto profile = ToJson(first.profile())["tasks"];

  tiny->run.curriculum = OneStage({{"one", 5}, {"two", 3}, {"three", 2}});
  RunPlanner second = Planner(*tiny, budget);
  second.TakeUp(scratch_.path());
  const Plan& after = second.PlanRun(tiny->run.NamedForms());
  EXPECT_GT(second.prober().steps(), 0);
  EXPECT_NE(after.Find(FormId("three")), nullptr);
  for (const char* task : {"one", "two"}) {
    EXPECT_EQ(ToJson(second.profile())["tasks"][task], profile[task]);
    // Its rows wait too, and they are larger.
    const PlannedTask &now = *after.Find(FormId(task)), &then = *before.Find(FormId(task));
    EXPECT_LE(now.rows, then.rows);
    EXPECT_GT(4 * now.rows, 3 * then.rows);
  }
}

// A plan without what a stopwatch said.
nlohmann::ordered_json Untimed(const Plan& plan) {
  nlohmann::ordered_json json = ToJson(plan);
  for (auto& task : json["tasks"]) task.erase("ms_per_step");
  return json;
}

TEST_F(PlannedRun, MeasuringTwiceGivesTheSamePlan) {
  for (const std::int64_t rows : {0, 60}) {
    for (const std::int64_t extra : {40000, 75000, 120000}) {
      nlohmann::ordered_json plans[2];
      for (const int turn : {0, 1}) {
        int passes = 0;  // every other time the first ones are slow, or the last
        const auto tiny = MakeRun(PlannedConfig(1, rows), {}, [&](std::int64_t) {
          if ((passes++ < 40) == (turn == 0)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
        RunPlanner planner = Planner(*tiny, InUse() + extra);
        plans[turn] = Untimed(planner.PlanRun(tiny->run.NamedForms()));
      }
      EXPECT_EQ(plans[0], plans[1]) << rows << " rows, " << extra << " bytes";
    }
  }
}

TEST_F(PlannedRun, TrainPlansAsPlanDoesThatMeasuresEveryWay) {
  for (const std::int64_t rows : {0, 12, 60}) {
    for (std::int64_t extra = 15000; extra < 400000; extra *= 2) {
      nlohmann::ordered_json plans[2];
      for (const bool all_ways : {false, true}) {
        const auto tiny = MakeRun(PlannedConfig(1, rows));
        RunPlanner planner = Planner(*tiny, {.budget = InUse() + extra,
                                             .budget_words = "asked",
                                             .probe_bytes = kPlenty,
                                             .all_ways = all_ways});
        try {
          plans[all_ways] = Untimed(planner.PlanRun(tiny->run.NamedForms()));
        } catch (const DoesNotFit& refusal) {
          for (const Refusal& one : refusal.refusals()) plans[all_ways].push_back(one.change);
        }
      }
      EXPECT_EQ(plans[0], plans[1]) << rows << " rows, " << extra << " bytes";
    }
  }
}

// A peak that bends upwards above the probes: whatever the planned size is, its step takes more than the
// line.
TEST_F(PlannedRun, EveryModeIsMeasuredInThreeSizesAndItsPlannedOneOnceEvenWhereTheLineIsWrong) {
  int surprises = 0;
  for (const std::int64_t rows : {0, 64}) {
    for (const std::int64_t extra : {150000, 300000, 600000}) {
      const auto tiny =
          MakeRun(PlannedConfig(1, rows), {}, [](std::int64_t n) { at::empty({60 * n * n}, at::kByte); });
      const std::int64_t in_use = InUse();
      RunPlanner planner = Planner(*tiny, in_use + extra);
      const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
      planner.Apply(tiny->plan(), *tiny->run.mixer);
      std::int64_t modes = 0, confirmed = 0;
      for (const auto& [form, task] : planner.profile().tasks) {
        for (const ModeProfile& mode : task.modes) {
          ++modes;
          EXPECT_LE(mode.whole.size(), 4U) << form.text();
          EXPECT_LE(mode.pieces.size(), 4U) << form.text();
          confirmed += mode.whole.size() > 3 || mode.pieces.size() > 3;
        }
      }
      // A row to warm up, and each size whole and in pieces.
      EXPECT_LE(planner.prober().steps(), 7 * modes + 2 * confirmed);
      for (const PlannedTask& entry : plan.entries) {
        surprises += !entry.confirmed;
        EXPECT_TRUE(Runs(*tiny, plan, entry, entry.rows)) << entry.form.text() << " with " << extra;
      }
    }
  }
  EXPECT_GT(surprises, 5) << "no plan had to be changed";
}

constexpr std::int64_t kTableRows = 50000, kTable = kTableRows * kWords * 4;  // bytes
constexpr std::int64_t kDrawRows = 60;  // whose step takes more than the generators that building saves

struct Drawn {
  std::string task;
  std::set<std::string> tables;  // that were there
};

// Three tasks with large tables, all of whose rows are their longest.
std::unique_ptr<TinyRun> RunWithTables(const RunConfig& config, std::vector<Drawn>& drawn) {
  auto tiny = MakeRun(config);
  int count = 0;
  for (const char* name : {"one", "two", "three"}) {
    const int passes = ++count;
    FixtureTask& task = tiny->tasks()[name];
    task.info->constants.front().rows = kTableRows;
    Script script{.sample =
                      [passes](RowRange rows) {
                        rows.longest = true;
                        Batch longest = LongQaRows(rows, passes);
                        return longest;
                      },
                  .run =
                      [&drawn, name, host = tiny->host](const std::string& pass, PassContext& context) {
                        Sums sums = QaPass(pass, context);
                        if (pass == "q0" && context.batch().size() == kDrawRows) {
                          drawn.push_back({name, {}});
                          for (const auto& [other, fixture] : host->tasks)
                            if (fixture.task->ConstantBytes(at::kCPU) > 0) drawn.back().tables.insert(other);
                        }
                        return sums;
                      },
                  .constant =
                      [](const std::string&) {
                        return at::full({kTableRows, kWords}, 0.5F);
                      }};
    task.task = std::make_unique<LoadedTask>(*task.info, task.info->variants.front(), "fixture",
                                             std::make_unique<ScoredTask>(std::move(script), "q0"));
  }
  return tiny;
}

// A budget with room for two tables and a half.
std::int64_t RoomForSomeTables(const Plan& roomy) {
  std::int64_t step = 0;
  for (const PlannedTask& entry : roomy.entries)
    step = std::max(step, entry.predicted_peak - roomy.floor_bytes());
  EXPECT_LT(step, kTable / 4);
  return roomy.floor_bytes() + roomy.data_bytes + step - kTable / 2;
}

TEST_F(PlannedRun, ATableThatTwoTasksShareIsPlannedOnceAndGoesWithTheLast) {
  std::vector<Drawn> drawn;
  SharedTables shared;
  const auto tiny = RunWithTables(PlannedConfig(1, kDrawRows), drawn);
  for (const char* name : {"one", "two"}) tiny->tasks().at(name).task->ShareTables(shared, "kind");
  RunPlanner planner = Planner(*tiny, kPlenty);
  Plan plan = planner.PlanRun(tiny->run.NamedForms());
  EXPECT_EQ(plan.floor.constants, 2 * kTable);

  plan.drops_tables = true;
  plan.data_bytes = 0;
  for (PlannedTask& entry : plan.entries) entry.predicted_peak = entry.ledger.margin = 0;
  TableRoom tables(at::kCPU, *tiny->run.host, tiny->plan());
  const auto room = [&](std::int64_t bytes, const std::string& task) {
    plan.budget = bytes;
    tiny->plan().Adopt(plan, {}, {});
    for (auto& [name, fixture] : tiny->tasks())
      fixture.task->Constant(fixture.info->constants.front().name, at::kCPU);
    return tables.MakeRoom(task);
  };
  const auto bytes = [&](const std::string& task) {
    return tiny->tasks().at(task).task->ConstantBytes(at::kCPU);
  };
  EXPECT_EQ(room(kTable + kTable / 2, "three"), kTable) << "of the others together";
  EXPECT_EQ(room(kTable + kTable / 2, "one"), kTable) << "of three: it shares two's";
  EXPECT_EQ(room(kTable / 2, "three"), 0);
  EXPECT_EQ(bytes("one") + bytes("two"), 0) << "while one has it nothing is gained";
  EXPECT_EQ(bytes("three"), kTable);
  EXPECT_EQ(room(kTable / 2, "one"), 0);
  EXPECT_EQ(bytes("three"), 0);
  EXPECT_EQ(bytes("one"), kTable);
}

TEST_F(PlannedRun, OfTablesThatDoNotAllFitTheLeastRecentlyUsedGoAndPredictionsStayExact) {
  for (const std::int64_t eval_every : {0, 7}) {
    RunConfig config = PlannedConfig(40, kDrawRows);
    config.eval.every = eval_every;
    std::vector<Drawn> drawn;
    const auto tiny = RunWithTables(config, drawn);
    RunPlanner roomy = Planner(*tiny, kPlenty);
    const std::int64_t budget = RoomForSomeTables(roomy.PlanRun(tiny->run.NamedForms()));
    EXPECT_FALSE(roomy.plan().drops_tables);
    RunPlanner planner = Planner(*tiny, budget);
    const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
    EXPECT_TRUE(plan.drops_tables);
    planner.Apply(tiny->plan(), *tiny->run.mixer);
    for (const auto& [name, task] : tiny->tasks()) EXPECT_EQ(task.task->ConstantBytes(at::kCPU), 0) << name;
    drawn.clear();
    const ScratchDirectory scratch;
    SetCpuBudget(budget);
    {
      TestTrainer trainer(*tiny, scratch.path(), *console_);
      EXPECT_EQ(trainer.Train(), ExitCode::kDone);
    }
    SetCpuBudget(0);
    EXPECT_EQ(console_.words().find("out of memory"), std::string::npos) << console_.words();
    const Receipt receipt =
        Receipt::FromJson(nlohmann::ordered_json::parse(ReadText(scratch / kReceiptFile)));
    EXPECT_EQ(receipt.overflows(), 0);
    for (const PlannedTask& entry : plan.entries) {
      EXPECT_EQ(entry.tables, kTable);
      const std::vector<PlanEpoch>& epochs = receipt.forms().at(entry.form);
      ASSERT_EQ(epochs.size(), 1U) << entry.form.text();
      EXPECT_EQ(epochs[0].predicted, entry.predicted_peak) << entry.form.text();
      EXPECT_EQ(epochs[0].smallest, entry.predicted_peak) << entry.form.text();
      EXPECT_EQ(epochs[0].largest, entry.predicted_peak) << entry.form.text();
    }
    if (eval_every > 0) continue;  // the order of an evaluation is its own
    ASSERT_EQ(drawn.size(), 40U);
    std::string last;  // another task than the one that is drawn, which was drawn before it
    std::set<std::set<std::string>> seen;
    for (std::size_t i = 1; i < drawn.size(); ++i) {
      if (drawn[i].task != drawn[i - 1].task) last = drawn[i - 1].task;
      if (last.empty()) continue;
      EXPECT_EQ(drawn[i].tables, (std::set<std::string>{drawn[i].task, last})) << "draw " << i;
      seen.insert(drawn[i].tables);
    }
    EXPECT_GE(seen.size(), 2U) << "tables came and went";
  }
}

// It says that a plan drops tables, and a resume takes that up.
TEST_F(PlannedRun, APlanThatDropsTablesIsTakenUpAsSuch) {
  std::vector<Drawn> drawn;
  const auto tiny = RunWithTables(PlannedConfig(1, kDrawRows), drawn);
  RunPlanner roomy = Planner(*tiny, kPlenty);
  const std::int64_t budget = RoomForSomeTables(roomy.PlanRun(tiny->run.NamedForms()));
  RunPlanner first = Planner(*tiny, budget);
  first.PlanRun(tiny->run.NamedForms());
  first.Save(scratch_.path());
  RunPlanner second = Planner(*tiny, budget);
  second.TakeUp(scratch_.path());
  second.PlanRun(tiny->run.NamedForms());
  EXPECT_EQ(second.prober().steps(), 0);
  EXPECT_TRUE(second.plan().drops_tables);
  EXPECT_EQ(ToJson(second.plan()), ToJson(first.plan()));
  EXPECT_TRUE(Says(PlanTable(second.plan()), {"dropped where others need room"}));
}

TEST_F(PlannedRun, AProfileOfAnotherModelIsRefusedWithWhatDiffers) {
  auto tiny = MakeRun(PlannedConfig(1));
  RunPlanner planner = Planner(*tiny, InUse() + 300000);
  planner.PlanRun(tiny->run.NamedForms());
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
  other.PlanRun(tiny->run.NamedForms());
  EXPECT_GT(other.prober().steps(), 0);
}

TEST_F(PlannedRun, ADamagedProfileOfTheRunsOwnIsMeasuredAnew) {
  auto tiny = MakeRun(PlannedConfig(1));
  std::ofstream(scratch_ / kProfileFile) << "{";
  RunPlanner planner = Planner(*tiny, InUse() + 300000);
  planner.TakeUp(scratch_.path());
  EXPECT_TRUE(Says(console_.words(), {"planned anew"}));
  EXPECT_NO_THROW(planner.PlanRun(tiny->run.NamedForms()));
}

TEST_F(PlannedRun, ATaskThatFailsIsNamedOrLeftForItsFirstDraw) {
  const RowHook fails = [](const RowRange&) { throw Error("no such scene"); };
  RunConfig config = PlannedConfig(1, 5);
  auto tiny = MakeRun(config, {{"two", fails}});
  EXPECT_TRUE(Says(MessageOf([&] { Planner(*tiny, InUse() + 300000).PlanRun(tiny->run.NamedForms()); }),
                   {"two", "no such scene"}));
  config.on_task_error = "drop";
  tiny = MakeRun(config, {{"two", fails}});
  RunPlanner planner = Planner(*tiny, InUse() + 300000);
  const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
  EXPECT_EQ(plan.Find(FormId("two")), nullptr);
  EXPECT_NE(plan.Find(FormId("three")), nullptr);
  EXPECT_TRUE(Says(console_.words(), {"two has no plan", "no such scene"}));
}

TEST_F(PlannedRun, ADeviceThatFailedIsNoTasksFault) {
  const RowHook fails = [](const RowRange&) {
    throw c10::AcceleratorError({}, 700, "CUDA error: an illegal memory access was encountered");
  };
  RunConfig config = PlannedConfig(1, 5);
  config.on_task_error = "drop";
  auto tiny = MakeRun(config, {{"two", fails}});
  RunPlanner planner = Planner(*tiny, InUse() + 300000);
  EXPECT_THROW(planner.PlanRun(tiny->run.NamedForms()), c10::AcceleratorError);
  EXPECT_EQ(console_.words().find("has no plan"), std::string::npos);
}

// What was measured by an earlier start says that the first draw of one task has no room for its check.
TEST_F(PlannedRun, ATaskThatBreaksItsSpecWhereNothingIsMeasuredIsNamedOrLeftToo) {
  bool fails = false;
  RunConfig config = PlannedConfig(1, 5);
  const auto make = [&] {
    return MakeRun(config, {{"two", [&](const RowRange&) {
                               if (fails) throw Error("no such scene");
                             }}});
  };
  auto tiny = make();
  const std::int64_t budget = InUse() + 300000;
  RunPlanner first = Planner(*tiny, budget);
  first.PlanRun(tiny->run.NamedForms());
  first.Save(scratch_.path());
  auto json = nlohmann::ordered_json::parse(ReadText(scratch_ / kProfileFile));
  ASSERT_LT(json["tasks"]["two"]["contract"], 300000);
  json["tasks"]["two"]["contract"] = kPlenty;
  std::ofstream(scratch_ / kProfileFile) << json.dump();

  fails = true;
  for (const bool plan_is_kept : {true, false}) {
    if (!plan_is_kept) std::filesystem::remove(scratch_ / kPlanFile);
    config.on_task_error = "stop";
    tiny = make();
    RunPlanner stopped = Planner(*tiny, budget);
    stopped.TakeUp(scratch_.path());
    EXPECT_TRUE(Says(MessageOf([&] { stopped.PlanRun(tiny->run.NamedForms()); }), {"no such scene"}));

    config.on_task_error = "drop";
    tiny = make();
    RunPlanner planner = Planner(*tiny, budget);
    planner.TakeUp(scratch_.path());
    const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
    EXPECT_EQ(plan.Find(FormId("two")), nullptr);
    EXPECT_NE(plan.Find(FormId("one")), nullptr);
    EXPECT_TRUE(Says(console_.words(), {"two has no plan", "no such scene"}));
  }
}

// Where its rows are cut, a step of the planned size is measured too.
TEST_F(PlannedRun, ATaskThatFailsInAStepThatIsMeasuredLaterIsNamedOrLeftTooAndAResumeKeepsThePlan) {
  std::int64_t passes = 0, most = kPlenty;
  const auto make = [&](const RunConfig& config) {
    auto made = MakeRun(config);
    Script script{.sample = [](const RowRange& rows) { return LongQaRows(rows, 2); },
                  .run =
                      [&](const std::string& pass, PassContext& context) {
                        if (++passes > most) throw Error("no such scene");
                        return QaPass(pass, context);
                      }};
    FixtureTask& two = made->tasks().at("two");
    two.task = std::make_unique<LoadedTask>(*two.info, two.info->variants.front(), "fixture",
                                            std::make_unique<ScoredTask>(std::move(script), "q0"));
    return made;
  };
  RunConfig config = PlannedConfig(1, 60);
  auto tiny = make(config);
  Planner(*tiny, kPlenty).PlanRun(tiny->run.NamedForms());
  most = std::exchange(passes, 0);  // with all rows in one forward
  const std::int64_t budget = InUse() + 45000;
  EXPECT_TRUE(Says(MessageOf([&] { Planner(*tiny, budget).PlanRun(tiny->run.NamedForms()); }),
                   {"measuring task 'two'", "no such scene"}));

  passes = 0;
  config.on_task_error = "drop";
  tiny = make(config);
  RunPlanner planner = Planner(*tiny, budget);
  const Plan& plan = planner.PlanRun(tiny->run.NamedForms());
  EXPECT_EQ(plan.Find(FormId("two")), nullptr);
  EXPECT_NE(plan.Find(FormId("one")), nullptr);
  EXPECT_NE(plan.Find(FormId("three")), nullptr);
  EXPECT_TRUE(Says(console_.words(), {"two has no plan", "no such scene"}));
  planner.Save(scratch_.path());
  const std::string saved = ReadText(scratch_ / kPlanFile);
  EXPECT_GT(nlohmann::json::parse(saved).at("planning").at("steps"), 0);

  RunPlanner resumed = Planner(*tiny, budget);
  resumed.TakeUp(scratch_.path());
  resumed.PlanRun(tiny->run.NamedForms());
  EXPECT_EQ(resumed.prober().steps(), 0);
  EXPECT_TRUE(Says(resumed.Line(), {"which still holds"}));
  resumed.Save(scratch_.path());
  EXPECT_EQ(ReadText(scratch_ / kPlanFile), saved) << "what planning took stays known";
}

TEST_F(PlannedRun, ABudgetBelowTheWeightsIsRefusedWithWhatIsNeeded) {
  auto tiny = MakeRun(PlannedConfig(1, 4));
  std::vector<Refusal> refusals;
  std::string words;
  try {
    Planner(*tiny, 100).PlanRun(tiny->run.NamedForms());
  } catch (const DoesNotFit& refusal) {
    words = refusal.what();
    refusals = refusal.refusals();
  }
  EXPECT_TRUE(Says(words, {"parameters", "optimizer", "more than the budget", "budget="}));
  ASSERT_EQ(refusals.size(), 1U);
  const std::int64_t enough = std::atoll(refusals[0].change.substr(std::string("budget=").size()).c_str());
  EXPECT_NO_THROW(Planner(*tiny, enough).PlanRun(tiny->run.NamedForms()));
  // Also in the ways that were not asked for first.
  EXPECT_THROW(Planner(*tiny, enough - 1).PlanRun(tiny->run.NamedForms()), DoesNotFit);
}

}  // namespace
}  // namespace medley
