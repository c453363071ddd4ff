// Faults put into tasks of a whole training run: does the guard see them, and name them?

#include <medley/memory/cpu_allocator.h>
#include <medley/report/metrics.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What a task does beside its pass: it may keep things, or change the sums.
using SumsHook = std::function<void(PassContext&, Sums&)>;

struct RunSetting {
  std::int64_t room = 64 * kMiB;  // of the budget, beside what lives before the run
  std::int64_t steps = 200;
  std::int64_t draws_per_step = 1;
  std::int64_t times_rows = 1;
  bool forward_only = false;                    // of task two: its terms weigh nothing
  std::map<std::string, std::int64_t> peaks{};  // planned, above the floor; with any there is a plan
  bool drop = false;                            // drop the task that fails
  OptimizerConfig optimizer = TinyConfig(1).optimizer;
};

struct GuardedOutcome {
  ExitCode code = ExitCode::kDone;
  std::string error, words;
  std::vector<json> lines;          // of timing.jsonl
  std::vector<json> findings;       // of the guard, with their step
  std::vector<std::int64_t> saved;  // steps
  std::int64_t step = 0;
  std::map<std::string, std::string> dropped;
};

RunConfig QuietConfig(const RunSetting& setting) {
  RunConfig config = TinyConfig(setting.steps);
  config.checkpoint.every = 0;
  config.eval.every = 0;
  config.data.threads = 0;
  config.draws_per_step = setting.draws_per_step;
  config.optimizer = setting.optimizer;
  config.optimizer.decay_fraction = 0;  // where one begins it is saved too
  for (auto& [name, task] : config.tasks) task.rows *= setting.times_rows;
  if (setting.drop) config.on_task_error = "drop";
  return config;
}

void SetPass(TinyRun& tiny, const std::string& task, const SumsHook& hook) {
  FixtureTask& fixture = tiny.tasks().at(task);
  const auto passes = static_cast<int>(fixture.info->variants.front().passes.size());
  Script script{.sample = [passes](const RowRange& rows) { return QaRows(rows, passes); },
                .run =
                    [hook](const std::string& pass, PassContext& context) {
                      Sums sums = QaPass(pass, context);
                      if (hook) hook(context, sums);
                      return sums;
                    }};
  fixture.task = std::make_unique<LoadedTask>(*fixture.info, fixture.info->variants.front(), "fixture",
                                              std::make_unique<ScoredTask>(std::move(script), "q0"));
}

void ReadTimes(const fs::path& run, GuardedOutcome& outcome) {
  std::istringstream text(ReadText(run / kTimingLog));
  for (std::string line; std::getline(text, line);) {
    outcome.lines.push_back(json::parse(line));
    for (json finding : outcome.lines.back().value("guard", json::array())) {
      finding["step"] = outcome.lines.back().at("step");
      outcome.findings.push_back(finding);
    }
  }
}

// Trains the three tasks; task two, which has two passes, with the hook.
GuardedOutcome TrainGuarded(const fs::path& directory, const RunSetting& setting, const SumsHook& hook) {
  InstallCpuAllocator();
  SilentConsole console;
  const auto tiny = MakeTinyRun(QuietConfig(setting));
  SetPass(*tiny, "two", hook);
  Run& run = tiny->run;
  run.contract->Waive(tiny->task("two"));  // so that the hook sees draws alone
  if (setting.forward_only) tiny->execution("two").term_weights = {{"answer", 0.0}, {"size", 0.0}};
  const MemoryReading now = ReadMemory(at::kCPU);
  run.budget.bytes = now.now + now.data + setting.room;
  if (!setting.peaks.empty()) {
    // The tables come on top when the tasks are first drawn.
    Plan plan;
    plan.floor.workspace = now.now + 1000;
    for (const auto& [task, peak] : setting.peaks) {
      PlannedTask& planned = plan.entries.emplace_back();
      planned.form = FormId(task);
      planned.way = tiny->execution(task).way;
      planned.rows = planned.micro_rows = run.config.tasks.at(task).rows;
      planned.predicted_peak = plan.floor_bytes() + peak;
    }
    tiny->plan().Adopt(plan, {}, {});
  }
  GuardedOutcome outcome;
  {
    TestTrainer trainer(*tiny, directory, *console);
    try {
      outcome.code = trainer.Train();
    } catch (const Error& error) {
      outcome.code = error.code();
      outcome.error = error.what();
    }
    outcome.step = trainer.step();
    outcome.dropped = trainer.dropped();
  }
  EXPECT_EQ(CpuBudget(), 0) << "the budget ends with the run";
  outcome.words = console.words();
  ReadTimes(directory, outcome);
  for (const CheckpointEntry& entry : ListCheckpoints(directory)) outcome.saved.push_back(entry.step);
  return outcome;
}

// The n-th call of task two's pass in its draws.
SumsHook AtCall(int nth, const std::function<void(PassContext&, Sums&)>& what) {
  return [nth, what, calls = std::make_shared<int>(0)](PassContext& context, Sums& sums) {
    if (++*calls == nth) what(context, sums);
  };
}

at::Tensor Block(std::int64_t bytes) { return at::empty({bytes}, at::kByte); }

TEST(GuardedRun, AHealthyRunIsNoNewsAndItsFloorDoesNotMove) {
  for (const bool forward_only : {false, true}) {  // every third step has no backward then
    const ScratchDirectory scratch;
    RunSetting setting;
    setting.forward_only = forward_only;
    setting.draws_per_step = forward_only ? 1 : 2;
    const GuardedOutcome outcome = TrainGuarded(scratch.path(), setting, {});
    EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
    EXPECT_TRUE(outcome.findings.empty()) << json(outcome.findings).dump(1);
    ASSERT_EQ(outcome.lines.size(), 200u);
    for (std::size_t i = 10; i < outcome.lines.size(); ++i)
      ASSERT_EQ(outcome.lines[i].at("memory_now"), outcome.lines[10].at("memory_now")) << "step " << i + 1;
  }
}

// Four buffers of the weights' sizes, and no copy of them: all are there before the first step, and counted.
TEST(GuardedRun, WhatAnOptimizerKeepsIsNoCopyOfTheWeights) {
  const ScratchDirectory scratch;
  RunSetting setting;
  setting.optimizer.average = 0.9;
  setting.optimizer.trend = TrendConfig();
  setting.optimizer.groups = {{.match = "mid.weight", .rule = RuleName::kMuon}};
  const GuardedOutcome outcome = TrainGuarded(scratch.path(), setting, {});
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_TRUE(outcome.findings.empty()) << json(outcome.findings).dump(1);
  ASSERT_EQ(outcome.lines.size(), 200u);
  const auto optimizer = [](const json& line) {
    return line.at("memory").at("optimizer").get<std::int64_t>();
  };
  const FixtureModel model;
  std::int64_t weights = 0, largest = 0, counts = 0;
  for (const Parameter& parameter : model.parameters()) {
    weights += 4 * parameter.tensor.numel();
    if (parameter.name == "mid.weight") largest = 4 * parameter.tensor.numel();
    counts += parameter.name == "mid.weight" ? 0 : 4;
  }
  for (std::size_t i = 0; i < outcome.lines.size(); ++i) {
    ASSERT_EQ(optimizer(outcome.lines[i]), 4 * weights - largest + 3 * largest + counts);
    if (i < 10) continue;
    ASSERT_EQ(outcome.lines[i].at("memory_now"), outcome.lines[10].at("memory_now")) << "step " << i + 1;
  }
}

TEST(GuardedRun, ATaskThatKeepsTensorsIsReportedWithItsBytesAStep) {
  for (const int draws_per_step : {1, 3}) {
    const ScratchDirectory scratch;
    RunSetting setting;
    setting.draws_per_step = draws_per_step;
    std::vector<at::Tensor> kept;
    const GuardedOutcome outcome =
        TrainGuarded(scratch.path(), setting, [&](PassContext&, Sums&) { kept.push_back(Block(2048)); });
    ASSERT_EQ(outcome.findings.size(), 1u) << json(outcome.findings).dump(1);
    EXPECT_EQ(outcome.findings[0].at("kind"), "leak");
    EXPECT_EQ(outcome.findings[0].at("task"), "two");
    EXPECT_TRUE(Says(outcome.words, {"task two keeps 4096 bytes a step", "the budget is used up"}));
    EXPECT_EQ(outcome.saved, std::vector<std::int64_t>{200}) << "no reason to save early";
  }
}

// The sum's graph lives on with it, and what that saved.
TEST(GuardedRun, AForwardWithoutABackwardWhoseSumIsKeptIsALeak) {
  for (const bool detached : {true, false}) {
    const ScratchDirectory scratch;
    RunSetting setting;
    setting.forward_only = true;
    setting.times_rows = 10;
    std::vector<at::Tensor> kept;
    const GuardedOutcome outcome = TrainGuarded(scratch.path(), setting, [&](PassContext&, Sums& sums) {
      const at::Tensor& sum = sums.at("answer");
      kept.push_back(detached ? sum.detach() : sum);
    });
    if (detached) {  // four bytes each, and nobody minds
      EXPECT_TRUE(outcome.findings.empty()) << json(outcome.findings).dump(1);
      continue;
    }
    ASSERT_EQ(outcome.findings.size(), 1u) << json(outcome.findings).dump(1);
    EXPECT_EQ(outcome.findings[0].at("kind"), "leak");
    EXPECT_EQ(outcome.findings[0].at("task"), "two");
    EXPECT_TRUE(Says(outcome.words, {"detached"}));
  }
}

TEST(GuardedRun, ASpikeAbovePlanIsNamedOnceAndCriticalOnesAreSaved) {
  struct Case {
    std::int64_t spike;
    std::string level;  // "": none
  };
  for (const Case& expected : {Case{kMiB / 8, ""}, {2 * kMiB, "warning"}, {8 * kMiB, "critical"}}) {
    const ScratchDirectory scratch;
    RunSetting setting;
    setting.peaks = {{"one", kMiB}, {"two", kMiB}, {"three", kMiB}};
    setting.steps = 60;
    const GuardedOutcome outcome = TrainGuarded(
        scratch.path(), setting, AtCall(14, [&](PassContext&, Sums&) { Block(kMiB + expected.spike); }));
    ASSERT_EQ(outcome.findings.empty(), expected.level.empty()) << json(outcome.findings).dump(1);
    if (expected.level.empty()) continue;
    ASSERT_EQ(outcome.findings.size(), 1u) << json(outcome.findings).dump(1);
    EXPECT_EQ(outcome.findings[0].at("kind"), "peak");
    EXPECT_EQ(outcome.findings[0].at("task"), "two");
    EXPECT_EQ(outcome.findings[0].at("level"), expected.level);
    const auto step = outcome.findings[0].at("step").get<std::int64_t>();
    EXPECT_GT(step, 10);
    if (expected.level == "critical") {
      EXPECT_EQ(outcome.saved, (std::vector<std::int64_t>{60, step}));
      EXPECT_TRUE(Says(outcome.words, {"saving early", "task two reached"}));
    } else {
      EXPECT_EQ(outcome.saved, std::vector<std::int64_t>{60});
    }
  }
}

TEST(GuardedRun, WithoutAPlanTheWholeBudgetIsTheMeasure) {
  const ScratchDirectory scratch;
  RunSetting setting;
  setting.steps = 30;
  // 15 sixteenths of a budget that is all room but for some KiB.
  const GuardedOutcome outcome =
      TrainGuarded(scratch.path(), setting, AtCall(2, [&](PassContext&, Sums&) { Block(60 * kMiB); }));
  ASSERT_EQ(outcome.findings.size(), 1u) << json(outcome.findings).dump(1);
  EXPECT_EQ(outcome.findings[0].at("kind"), "memory");
  EXPECT_EQ(outcome.findings[0].at("level"), "critical");
  EXPECT_EQ(outcome.findings[0].at("task"), "two");
  EXPECT_EQ(outcome.saved.size(), 2u);
}

TEST(GuardedRun, ASecondModelIsNoticedWhenItComesToStay) {
  const ScratchDirectory scratch;
  RunSetting setting;
  setting.steps = 40;
  std::unique_ptr<FixtureModel> second;
  const GuardedOutcome outcome = TrainGuarded(scratch.path(), setting, AtCall(6, [&](PassContext&, Sums&) {
                                                second = std::make_unique<FixtureModel>();
                                                second->To(at::kCPU, at::kFloat);
                                              }));
  ASSERT_EQ(outcome.findings.size(), 1u) << json(outcome.findings).dump(1);
  EXPECT_EQ(outcome.findings[0].at("kind"), "copy");
  EXPECT_EQ(outcome.findings[0].at("task"), "two");
  EXPECT_TRUE(Says(outcome.words, {"a second copy of the model's parameters"}));
}

// However few rows: smaller micro-batches do not help.
TEST(GuardedRun, TheBudgetEndsTheRunWithTheTasksName) {
  const ScratchDirectory scratch;
  RunSetting setting;
  setting.room = kMiB;
  int calls = 0;
  const GuardedOutcome outcome = TrainGuarded(scratch.path(), setting, [&](PassContext&, Sums&) {
    if (++calls >= 20) Block(2 * kMiB);
  });
  EXPECT_EQ(outcome.code, ExitCode::kDoesNotFit);
  EXPECT_TRUE(Says(outcome.error, {"Task two does not fit", "the budget is "}));
}

TEST(GuardedRun, APeakIsToldApartAndAddsUp) {
  const ScratchDirectory scratch;
  RunSetting setting;
  setting.steps = 20;
  setting.draws_per_step = 2;
  setting.times_rows = 40;  // or the state of the generators, which is copied before the draws, is the peak
  const GuardedOutcome outcome = TrainGuarded(scratch.path(), setting, {});
  const json& line = outcome.lines.back();
  const json& memory = line.at("memory");
  constexpr std::int64_t kWeights = 318 * 4;
  EXPECT_EQ(memory.at("weights"), kWeights);
  EXPECT_GE(memory.at("optimizer"), 2 * kWeights);
  // Those of the first draw are there when the second one peaks; those of the one that peaks come later.
  std::set<std::int64_t> gradients;
  for (const json& any : outcome.lines)
    gradients.insert(any.at("memory").at("gradients").get<std::int64_t>());
  EXPECT_GT(*gradients.rbegin(), 0);
  EXPECT_LT(*gradients.begin(), *gradients.rbegin());
  EXPECT_LE(*gradients.rbegin(), kWeights);
  EXPECT_GT(memory.at("activations"), 0);
  EXPECT_GT(memory.at("inputs"), 0);
  EXPECT_EQ(memory.at("constants").at("two"), 6 * kWords * 4);
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : memory.items()) {
    if (name == "constants") {
      for (const auto& own : bytes) sum += own.get<std::int64_t>();
    } else if (name != "total") {
      sum += bytes.get<std::int64_t>();
    }
  }
  EXPECT_EQ(memory.at("total"), sum);
  EXPECT_EQ(sum - memory.at("inputs").get<std::int64_t>(), line.at("memory_peak"));
  for (const auto& [task, figures] : line.at("tasks").items()) {
    EXPECT_LE(figures.at("memory_peak"), line.at("memory_peak"));
    EXPECT_GT(figures.at("memory_peak"), line.at("memory_now"));
  }
  EXPECT_TRUE(Says(outcome.words, {"the largest step took", "activations", "optimizer"}));
}

// A step that fails must not move what the next checkpoint saves: the state after the last whole step.
TEST(GuardedRun, AFailedStepLeavesTheGeneratorsWhereTheyWere) {
  for (const bool drop : {false, true}) {
    const ScratchDirectory scratch;
    RunSetting setting;
    setting.steps = 12;
    setting.draws_per_step = 3;
    setting.drop = drop;
    SeedGenerators(3, at::kCPU);
    const json before = SaveGenerators(at::kCPU);
    int calls = 0;
    const GuardedOutcome outcome = TrainGuarded(scratch.path(), setting, [&](PassContext&, Sums&) {
      if (++calls < 12) return;
      at::rand({5});
      throw std::runtime_error("the camera is gone");
    });
    EXPECT_EQ(outcome.code, drop ? ExitCode::kSomethingDropped : ExitCode::kFailed) << outcome.error;
    EXPECT_TRUE(SaveGenerators(at::kCPU) == before);
    if (!drop) {
      EXPECT_EQ(calls, 12) << "where the run ends, nothing is run again";
    }
  }
}

}  // namespace
}  // namespace medley::testing_fixture
