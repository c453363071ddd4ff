// A draw runs out of memory in the middle of a run: it must cost nothing but time.

#include <medley/base/interrupt.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/plan/plan_in_force.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/sweep.h"
#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ContextHook = std::function<void(PassContext&)>;

constexpr std::int64_t kRows = 4;

RunConfig UnguardedConfig(std::int64_t steps) {
  RunConfig config = TinyConfig(steps);
  config.checkpoint.every = 0;
  config.eval.every = 0;
  config.data.threads = 0;
  config.tasks["two"].rows = kRows;
  return config;
}

std::unique_ptr<TinyRun> RunWith(const RunConfig& config, Mode mode, std::int64_t micro_rows,
                                 const ContextHook& hook) {
  auto tiny = MakeTinyRun(config);
  for (auto& [name, execution] : tiny->executions) execution.way.mode = mode;
  tiny->execution("two").micro_rows = micro_rows;
  FixtureTask& two = tiny->tasks().at("two");
  Script script{.sample = [](const RowRange& rows) { return QaRows(rows, 2); },
                .run =
                    [hook](const std::string& pass, PassContext& context) {
                      if (hook) hook(context);
                      return QaPass(pass, context);
                    }};
  two.task = std::make_unique<LoadedTask>(*two.info, two.info->variants.front(), "fixture",
                                          std::make_unique<ScoredTask>(std::move(script), "q0"));
  return tiny;
}

struct RecoveredOutcome {
  ExitCode code = ExitCode::kDone;
  std::string error, words;
  std::map<std::string, std::string> state;  // metrics and the last checkpoint
  std::vector<json> overflows;               // with their step
  std::int64_t micro_rows = 0;               // of task two, at the end
};

// Progress, mixer and generators, without what tells how the steps were cut and what they took.
std::string WhatWasTrained(const fs::path& directory) {
  json state = json::parse(ReadText(ListCheckpoints(directory).at(0).path / "state.json"));
  EXPECT_EQ(state.at("progress").at("state").erase("overflows"), 1u);
  EXPECT_EQ(state.erase("receipt"), 1u);
  EXPECT_TRUE(state.contains("mixer") && state.contains("generators"));
  return state.dump();
}

RecoveredOutcome TrainTiny(TinyRun& tiny, const fs::path& directory) {
  SilentConsole console;
  RecoveredOutcome outcome;
  TestTrainer trainer(tiny, directory, *console);
  try {
    outcome.code = trainer.Train();
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.error = error.what();
  }
  outcome.words = console.words();
  std::ifstream log(directory / "timing.jsonl");
  for (std::string line; std::getline(log, line);) {
    const json step = json::parse(line);
    for (json overflow : step.value("out_of_memory", json::array())) {
      overflow["step"] = step.at("step");
      outcome.overflows.push_back(overflow);
    }
  }
  if (outcome.code == ExitCode::kDone) {
    outcome.state = EndState(directory);
    outcome.state["state.json"] = WhatWasTrained(directory);
  }
  outcome.micro_rows = tiny.plan().Of("two").micro_rows;
  return outcome;
}

// The n-th allocation from the first pass of task two's first draw on fails, once.
ContextHook FailAt(std::int64_t nth) {
  return [nth, done = std::make_shared<bool>(false)](PassContext& context) {
    if (*done || context.batch().size() != kRows) return;  // a contract check has one row
    *done = true;
    FailCpuAllocation(nth);
  };
}

struct Case {
  Mode mode;  // of task two
  int recompute_every;
  bool second_draw;  // of its step, behind one of another task; else a step is one draw
};
std::string NameOf(const Case& c) {
  return std::string(ModeName(c.mode)) + (c.recompute_every > 0 ? "_recomputed" : "") +
         (c.second_draw ? "_second_draw" : "");
}

// A task of the fixture, and before each of its passes a call.
class Hooked final : public Task {
 public:
  Hooked(std::unique_ptr<LoadedTask> task, ContextHook hook)
      : task_(std::move(task)), hook_(std::move(hook)) {}
  Batch Sample(const RowRange& rows) const override { return task_->Sample(rows); }
  Sums Run(std::string_view pass, PassContext& context) const override {
    if (hook_) hook_(context);
    return task_->Run(pass, context);
  }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return {}; }
  at::Tensor Constant(std::string_view name) const override { return task_->Constant(name, at::kCPU); }

 private:
  std::unique_ptr<LoadedTask> task_;
  ContextHook hook_;
};

FixtureTask HookedCanvas(const std::string& name, const ContextHook& hook) {
  Fixture canvas = Canvas();
  canvas.info->name = name;
  FixtureTask hooked{.info = std::move(canvas.info), .task = nullptr};
  hooked.task = std::make_unique<LoadedTask>(*hooked.info, hooked.info->variants.front(), "fixture",
                                             std::make_unique<Hooked>(std::move(canvas.task), hook));
  return hooked;
}

std::unique_ptr<TinyRun> RunWith(const Case& c, std::int64_t micro_rows, const ContextHook& hook) {
  RunConfig config = UnguardedConfig(6);
  config.draws_per_step = c.second_draw ? 2 : 1;
  const bool carries = c.mode == Mode::kTwoStage;
  auto tiny = RunWith(config, carries ? Mode::kSequential : c.mode, micro_rows, hook);
  if (carries) tiny->tasks().at("two") = HookedCanvas("two", hook);
  tiny->execution("two").way.mode = c.mode;
  for (auto& [name, execution] : tiny->executions) execution.way.recomputed = c.recompute_every;
  if (c.second_draw) {
    EXPECT_EQ(tiny->run.mixer->Peek(2).at(0).task, "one");
    EXPECT_EQ(tiny->run.mixer->Peek(2).at(1).task, "two");
  }
  return tiny;
}

// The generators are kept before anything is computed, and there is no room for them.
TEST(OomRecovery, MemoryThatRunsOutBeforeAStepsFirstDrawCostsAnotherTry) {
  InstallCpuAllocator();
  const Case whole{.mode = Mode::kJoint, .recompute_every = 0, .second_draw = false};
  const ScratchDirectory scratch;
  const RecoveredOutcome usual = TrainTiny(*RunWith(whole, 0, nullptr), scratch.path());
  for (const std::int64_t nth : {1, 2}) {
    const ScratchDirectory own;
    SilentConsole console;
    const auto tiny = RunWith(whole, 0, nullptr);
    TestTrainer trainer(*tiny, own.path(), *console);
    EXPECT_EQ(trainer.Train(2), ExitCode::kDone);
    FailCpuAllocation(nth);
    EXPECT_EQ(trainer.Train(), ExitCode::kDone);
    FailCpuAllocation(0);
    EXPECT_TRUE(Says(console.words(), {"step 3 ran out of memory between its draws; it runs again as it is"}))
        << nth;
    auto state = EndState(own.path());
    state["state.json"] = WhatWasTrained(own.path());
    EXPECT_EQ(state, usual.state);
  }
}

class OomAtEveryAllocation : public ::testing::TestWithParam<Case> {};

// Forward and backward, one allocation after the other, until the draw is through before the fault comes.
TEST_P(OomAtEveryAllocation, TheStepIsThatOfAPlanWithHalfTheRows) {
  InstallCpuAllocator();
  const ScratchDirectory scratch;
  const RecoveredOutcome small = TrainTiny(*RunWith(GetParam(), kRows / 2, nullptr), scratch.path());
  ASSERT_EQ(small.code, ExitCode::kDone) << small.error;
  std::int64_t nth = 1;
  std::set<std::string> phases;
  for (;; ++nth) {
    const ScratchDirectory own;
    const RecoveredOutcome outcome = TrainTiny(*RunWith(GetParam(), 0, FailAt(nth)), own.path());
    FailCpuAllocation(0);
    ASSERT_EQ(outcome.code, ExitCode::kDone) << "allocation " << nth << ": " << outcome.error;
    ASSERT_EQ(outcome.overflows.size(), 1u);
    phases.insert(outcome.overflows[0].at("phase"));
    if (outcome.overflows[0].at("task") == "") break;  // behind the draw
    EXPECT_EQ(outcome.overflows[0].at("task"), "two");
    EXPECT_EQ(outcome.overflows[0].at("from"), kRows);
    EXPECT_EQ(outcome.overflows[0].at("to"), kRows / 2);
    EXPECT_EQ(outcome.overflows[0].at("left_bytes"), 0) << "allocation " << nth;
    EXPECT_EQ(outcome.state, small.state) << "allocation " << nth;
    EXPECT_TRUE(Says(outcome.words, {"task two ran out of memory with 4 rows at once", "2 at a time"}));
  }
  EXPECT_GT(nth, 50) << "forward and backward of two passes allocate more than that";
  EXPECT_EQ(phases, (std::set<std::string>{"forward", "backward", "between draws"}));
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const Mode mode : {Mode::kJoint, Mode::kSequential, Mode::kTwoStage}) {
    for (const int recompute_every : {0, 1}) {
      for (const bool second_draw : {false, true}) cases.push_back({mode, recompute_every, second_draw});
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Modes, OomAtEveryAllocation,
                         ::testing::ValuesIn(test::Slice("OomAtEveryAllocation", AllCases(), 6)),
                         [](const auto& c) { return NameOf(c.param); });

// Bytes of the pass that grow with its rows, so that a budget can refuse some and not others.
ContextHook Spike(
    std::int64_t bytes_a_row,
    std::function<bool(const PassContext&)> when = [](const PassContext&) { return true; }) {
  return [=](PassContext& context) {
    if (when(context)) at::empty({bytes_a_row * context.batch().size()}, at::kByte);
  };
}

void SetRoom(TinyRun& tiny, std::int64_t bytes) {
  const MemoryReading now = ReadMemory(at::kCPU);
  tiny.run.budget.bytes = now.now + now.data + bytes;
}

TEST(OomRecovery, ABudgetThatTakesOneRowIsReachedInTwoCuts) {
  InstallCpuAllocator();
  const ScratchDirectory scratch, plain;
  const auto tiny = RunWith(UnguardedConfig(12), Mode::kSequential, 0, Spike(8 * kMiB));
  SetRoom(*tiny, 12 * kMiB);
  const RecoveredOutcome outcome = TrainTiny(*tiny, scratch.path());
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  ASSERT_EQ(outcome.overflows.size(), 2u);
  EXPECT_EQ(outcome.overflows[0].at("step"), outcome.overflows[1].at("step"));
  EXPECT_EQ(outcome.micro_rows, 1);
  // And is the run that was planned so.
  EXPECT_EQ(outcome.state,
            TrainTiny(*RunWith(UnguardedConfig(12), Mode::kSequential, 1, nullptr), plain.path()).state);
}

TEST(OomRecovery, WhereNotOneRowFitsTheRunEndsSavedWithWhatToDo) {
  InstallCpuAllocator();
  const ScratchDirectory scratch;
  const auto calls = std::make_shared<int>(0);
  const auto tiny = RunWith(UnguardedConfig(30), Mode::kSequential, 0,
                            Spike(40 * kMiB, [calls, counts = AfterTheCheck()](const PassContext& context) {
                              return counts(context) && ++*calls > 6;
                            }));
  SetRoom(*tiny, 16 * kMiB);
  const RecoveredOutcome outcome = TrainTiny(*tiny, scratch.path());
  EXPECT_EQ(outcome.code, ExitCode::kDoesNotFit);
  EXPECT_TRUE(Says(outcome.error, {"Task two does not fit", "one row by itself is too much, in every mode",
                                   "raise the budget (now ", "is saved"}));
  EXPECT_EQ(ListCheckpoints(scratch.path()).size(), 1u);
}

TEST(OomRecovery, AnInterruptCostsTheStepAlsoWhereAdviceIsBeingTried) {
  InstallCpuAllocator();
  for (int nth = 1;; ++nth) {
    const ScratchDirectory scratch;
    const auto calls = std::make_shared<int>(0);
    const auto tiny = RunWith(UnguardedConfig(30), Mode::kSequential, 0,
                              Spike(40 * kMiB, [=, counts = AfterTheCheck()](const PassContext& context) {
                                if (!counts(context) || ++*calls <= 6) return false;
                                if (*calls == 6 + nth) RequestInterrupt();
                                return true;
                              }));
    SetRoom(*tiny, 16 * kMiB);
    const RecoveredOutcome outcome = TrainTiny(*tiny, scratch.path());
    if (*calls < 6 + nth) {
      EXPECT_GT(nth, 5) << "there were tries";
      break;
    }
    EXPECT_EQ(outcome.code, ExitCode::kInterrupted) << nth << ": " << outcome.error;
    EXPECT_EQ(ListCheckpoints(scratch.path()).size(), 1u) << nth;
  }
}

// The rows of 4 draws wait, 1 MiB a row: two more such draws than there is room for.
TEST(OomRecovery, WhereTheRowsThatWaitAreTooManyTheAdviceWasTriedAndIsWhatFits) {
  InstallCpuAllocator();
  const auto run = [&](std::int64_t rows, std::int64_t draws_per_step) {
    RunConfig config = UnguardedConfig(6);
    config.draws_per_step = draws_per_step;
    for (auto& [name, task] : config.tasks) task.rows = rows;
    auto tiny = RunWith(config, Mode::kSequential, 0, nullptr);
    for (auto& [name, task] : tiny->tasks()) {
      const auto passes = static_cast<int>(task.info->variants.front().passes.size());
      Script script{.sample =
                        [passes](const RowRange& range) {
                          Batch batch = QaRows(range, passes);
                          batch.Add("film", at::zeros({range.count, kMiB}, at::kByte));
                          return batch;
                        },
                    .run = QaPass};
      task.task = std::make_unique<LoadedTask>(*task.info, task.info->variants.front(), "fixture",
                                               std::make_unique<ScoredTask>(std::move(script), "q0"));
    }
    SetRoom(*tiny, 13 * kMiB);
    const ScratchDirectory scratch;
    return TrainTiny(*tiny, scratch.path());
  };
  const RecoveredOutcome wide = run(16, 1);
  EXPECT_EQ(wide.code, ExitCode::kDoesNotFit);
  EXPECT_TRUE(Says(wide.error, {"does not fit", "It was tried: one fits with tasks.", ".rows=8"}));
  EXPECT_EQ(wide.error.find("micro_rows"), std::string::npos) << wide.error;
  EXPECT_EQ(run(8, 1).code, ExitCode::kDone);
  const RecoveredOutcome many = run(4, 4);
  EXPECT_EQ(many.code, ExitCode::kDoesNotFit);
  EXPECT_TRUE(Says(many.error, {"draws_per_step=2"}));
  EXPECT_EQ(run(4, 2).code, ExitCode::kDone);
}

// The fault hits where the step adds up its losses, after the last draw: the same step again, uncut.
TEST(OomRecovery, AStepThatFindsNoRoomBetweenItsDrawsRunsAgainOnceAsItIs) {
  InstallCpuAllocator();
  const RunConfig config = UnguardedConfig(12);
  const ScratchDirectory plain;
  const RecoveredOutcome whole = TrainTiny(*RunWith(config, Mode::kSequential, 0, nullptr), plain.path());
  for (std::int64_t nth = 50;; ++nth) {
    ASSERT_LT(nth, 1000);
    const ScratchDirectory own;
    const RecoveredOutcome outcome =
        TrainTiny(*RunWith(config, Mode::kSequential, 0, FailAt(nth)), own.path());
    FailCpuAllocation(0);
    ASSERT_EQ(outcome.overflows.size(), 1u) << nth;
    if (outcome.overflows[0].at("task") != "") continue;
    EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
    EXPECT_EQ(outcome.micro_rows, 0);
    EXPECT_EQ(outcome.state, whole.state);
    EXPECT_TRUE(Says(outcome.words, {"between its draws; it runs again as it is"}));
    return;
  }
}

// As a plugin is, when the first step draws its task: what the task itself keeps is not what the draw left.
TEST(OomRecovery, WhatATaskHoldsSinceItWasLoadedInTheStepIsNoLeak) {
  InstallCpuAllocator();
  for (const int threads : {0, 1}) {
    const ScratchDirectory scratch;
    RunConfig config = UnguardedConfig(12);
    config.data.threads = threads;
    const auto tiny = RunWith(config, Mode::kSequential, 0, Spike(8 * kMiB));
    SetRoom(*tiny, 20 * kMiB);
    std::map<std::string, at::Tensor> held;
    tiny->host->is_loaded = [&](const std::string& task) { return held.count(task) > 0; };
    tiny->host->on_get = [&](const std::string& name) {
      if (held.count(name) == 0) held[name] = at::empty({30000}, at::kByte);
    };
    const RecoveredOutcome outcome = TrainTiny(*tiny, scratch.path());
    EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
    ASSERT_EQ(outcome.overflows.size(), 1u);
    EXPECT_EQ(outcome.overflows[0].at("task"), "two");
    EXPECT_EQ(outcome.overflows[0].at("left_bytes"), 0) << threads << " data threads";
    EXPECT_EQ(held.size(), 3u);
  }
}

TEST(OomRecovery, WhatTheDrawLeftBehindIsNamedToTheByte) {
  InstallCpuAllocator();
  const ScratchDirectory scratch;
  std::vector<at::Tensor> kept;
  const ContextHook fails = FailAt(20);
  const auto tiny = RunWith(UnguardedConfig(12), Mode::kSequential, 0, [&](PassContext& context) {
    if (kept.empty() && context.batch().size() == kRows) kept.push_back(at::empty({777}, at::kByte));
    fails(context);
  });
  const RecoveredOutcome outcome = TrainTiny(*tiny, scratch.path());
  FailCpuAllocation(0);
  ASSERT_EQ(outcome.overflows.size(), 1u);
  EXPECT_EQ(outcome.overflows[0].at("left_bytes"), 777);
  EXPECT_TRUE(Says(outcome.words, {"task two left 777 B behind", "That is a bug"}));
  const auto receipt = json::parse(ReadText(scratch / kReceiptFile)).at("tasks").at("two");
  EXPECT_EQ(receipt.at(0).at("overflows").at("left"), 777);
  EXPECT_EQ(receipt.at(0).at("cut"), false);
  EXPECT_EQ(receipt.at(1).at("cut"), true);
  EXPECT_EQ(receipt.at(1).at("micro_rows"), kRows / 2);
}

TEST(OomRecovery, ASqueezeThatPassesIsForgotten) {
  InstallCpuAllocator();
  const ScratchDirectory scratch;
  const auto calls = std::make_shared<int>(0);
  const auto tiny = RunWith(UnguardedConfig(300), Mode::kSequential, 0,
                            Spike(8 * kMiB, [calls](const PassContext&) { return ++*calls < 6; }));
  tiny->run.contract->Waive(tiny->task("two"));  // so that only draws are counted
  SetRoom(*tiny, 20 * kMiB);
  const RecoveredOutcome outcome = TrainTiny(*tiny, scratch.path());
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_EQ(outcome.overflows.size(), 1u);
  EXPECT_EQ(outcome.micro_rows, 0) << "all rows of a draw again";
  EXPECT_TRUE(Says(outcome.words, {"task two tries 4 rows at once again, after 2"}));
  // The draw after which it grows was still a cut one.
  const Receipt receipt = Receipt::FromJson(nlohmann::ordered_json::parse(ReadText(scratch / kReceiptFile)));
  const std::vector<PlanEpoch>& epochs = receipt.forms().at(FormId("two"));
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[1].draws, 32);
  EXPECT_EQ(epochs[1].micro_rows, 2);
  EXPECT_EQ(epochs[2].micro_rows, 4);
  EXPECT_FALSE(epochs[2].cut);
}

TEST(OomRecovery, OtherTasksAndTheMixtureAreLeftAlone) {
  InstallCpuAllocator();
  const ScratchDirectory scratch, plain;
  RunConfig config = UnguardedConfig(20);
  config.draws_per_step = 3;
  const auto tiny = RunWith(config, Mode::kSequential, 0, Spike(8 * kMiB));
  SetRoom(*tiny, 20 * kMiB);
  const RecoveredOutcome outcome = TrainTiny(*tiny, scratch.path());
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  ASSERT_EQ(outcome.overflows.size(), 1u);
  EXPECT_EQ(tiny->plan().Of("one").micro_rows, 0);
  EXPECT_EQ(tiny->plan().Of("three").micro_rows, 0);
  // Rows, losses and shares: those of the run that was planned small, line by line.
  EXPECT_EQ(
      outcome.state.at("metrics.jsonl"),
      TrainTiny(*RunWith(config, Mode::kSequential, 2, nullptr), plain.path()).state.at("metrics.jsonl"));
}

FormTable TasksAAndB() { return {RunConfig(), OneStage({{"a", 1}, {"b", 1}})}; }

TEST(OomRecovery, GrowsInDoublesAndWaitsLongerAfterEachTryThatWasTooEarly) {
  const FormTable forms = TasksAAndB();
  PlanInForce plan(forms, {{FormId("a"), {.micro_rows = 12}}, {FormId("b"), {}}});
  const std::vector<Draw> draws = {{"a", 0, 48}};
  const auto fits_until_it_grows = [&] {
    for (int draw = 1; draw < 10000; ++draw) {
      if (!plan.Fitted(draws).empty()) return draw;
    }
    return -1;
  };
  EXPECT_EQ(plan.Cut("a", 48)->to, 6);
  EXPECT_EQ(plan.Cut("a", 48)->to, 3);
  EXPECT_EQ(fits_until_it_grows(), 32);
  EXPECT_EQ(plan.Of("a").micro_rows, 6);
  EXPECT_EQ(plan.Cut("a", 48)->to, 3) << "too early";
  EXPECT_EQ(fits_until_it_grows(), 64);
  EXPECT_EQ(fits_until_it_grows(), 64);
  EXPECT_EQ(plan.Of("a").micro_rows, 12) << "never above the plan";
  EXPECT_EQ(fits_until_it_grows(), -1);
  EXPECT_EQ(plan.Of("b").micro_rows, 0);
  EXPECT_EQ(plan.Cut("b", 1), std::nullopt) << "one row cannot be cut";
}

TEST(OomRecovery, AResumeGoesOnWithTheSameCuts) {
  const FormTable forms = TasksAAndB();
  const std::map<FormId, Execution> all_rows = {{FormId("a"), {.micro_rows = 0}}};
  PlanInForce plan(forms, all_rows), resumed(forms, all_rows),
      replanned(forms, {{FormId("a"), {.micro_rows = 7}}});
  plan.Cut("a", 48);
  plan.Fitted({{"a", 0, 48}});
  resumed.Load(plan.Save());
  EXPECT_EQ(resumed.Of("a").micro_rows, 24);
  EXPECT_EQ(resumed.Save(), plan.Save());
  replanned.Load(plan.Save());
  EXPECT_EQ(replanned.Of("a").micro_rows, 7) << "another plan starts anew";
}

// As where a GPU answers no more: what is in memory cannot be saved, what was saved before is named.
TEST(OomRecovery, ARunThatCannotBeSavedNamesItsNewestCheckpoint) {
  for (const std::int64_t every : {2, 0}) {
    const ScratchDirectory scratch;
    RunConfig config = UnguardedConfig(30);
    config.checkpoint.every = every;
    TinyRun* run = nullptr;
    int draws = 0;
    const auto tiny = RunWith(config, Mode::kSequential, 0, [&](PassContext& context) {
      if (context.batch().size() != kRows || ++draws < 9) return;
      at::Tensor weight = run->run.model->parameters()[2].tensor.detach();
      weight.view(-1)[3] = NAN;
      throw std::runtime_error("the device is gone");
    });
    run = tiny.get();
    const RecoveredOutcome outcome = TrainTiny(*tiny, scratch.path());
    EXPECT_EQ(outcome.code, ExitCode::kFailed);
    EXPECT_TRUE(Says(outcome.error, {"the device is gone", "was not saved"}));
    const std::vector<CheckpointEntry> saved = ListCheckpoints(scratch.path());
    EXPECT_EQ(saved.empty(), every == 0);
    EXPECT_TRUE(Says(outcome.error, {saved.empty() ? "No step of the run was saved"
                                                   : "The newest checkpoint is " + saved[0].path.string() +
                                                         "; medley resume " + scratch.path().string()}));
  }
}

}  // namespace
}  // namespace medley::testing_fixture
