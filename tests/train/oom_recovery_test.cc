// A draw runs out of memory in the middle of a run: it must cost nothing but time.

#include <medley/memory/cpu_allocator.h>
#include <medley/train/oom_recovery.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using PassHook = std::function<void(PassContext&)>;

constexpr std::int64_t kRows = 4;

RunConfig Config(std::int64_t steps) {
  RunConfig config = TinyConfig(steps);
  config.checkpoint.every = 0;
  config.eval.every = 0;
  config.data.threads = 0;
  config.tasks["two"].rows = kRows;
  return config;
}

std::unique_ptr<TinyRun> RunWith(const RunConfig& config, Mode mode, std::int64_t micro_rows,
                                 const PassHook& hook) {
  auto tiny = MakeTinyRun(config);
  for (auto& [name, plan] : tiny->run.plans) plan.mode = mode;
  tiny->run.plans.at("two").micro_rows = micro_rows;
  FixtureTask& two = tiny->tasks.at("two");
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

struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string error, words;
  std::map<std::string, std::string> state;  // metrics and the last checkpoint
  std::vector<json> overflows;               // with their step
  std::int64_t micro_rows = 0;               // of task two, at the end
};

Outcome Train(TinyRun& tiny, const fs::path& directory) {
  SilentConsole console;
  Outcome outcome;
  Trainer trainer(tiny.run, directory, *console);
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
  if (outcome.code == ExitCode::kDone) outcome.state = EndState(directory);
  // How the rows were cut stands there too; what was trained is what is compared.
  outcome.state.erase("state.json");
  outcome.micro_rows = tiny.run.plans.at("two").micro_rows;
  return outcome;
}

// The n-th allocation from the first pass of task two's first draw on fails, once.
PassHook FailAt(std::int64_t nth) {
  return [nth, done = std::make_shared<bool>(false)](PassContext& context) {
    if (*done || context.batch().size() != kRows) return;  // a contract check has one row
    *done = true;
    FailCpuAllocation(nth);
  };
}

class OomAtEveryAllocation : public testing::TestWithParam<Mode> {};

// Forward and backward, one allocation after the other, until the draw is through before the fault comes.
TEST_P(OomAtEveryAllocation, TheStepIsThatOfAPlanWithHalfTheRows) {
  InstallCpuAllocator();
  const RunConfig config = Config(12);
  const ScratchDirectory scratch;
  const Outcome small = Train(*RunWith(config, GetParam(), kRows / 2, nullptr), scratch.path());
  ASSERT_EQ(small.code, ExitCode::kDone) << small.error;
  std::int64_t nth = 1;
  for (;; ++nth) {
    const ScratchDirectory own;
    const Outcome outcome = Train(*RunWith(config, GetParam(), 0, FailAt(nth)), own.path());
    FailCpuAllocation(0);
    if (outcome.overflows.empty()) break;
    ASSERT_EQ(outcome.code, ExitCode::kDone) << "allocation " << nth << ": " << outcome.error;
    ASSERT_EQ(outcome.overflows.size(), 1u);
    EXPECT_EQ(outcome.overflows[0].at("task"), "two");
    EXPECT_EQ(outcome.overflows[0].at("from"), kRows);
    EXPECT_EQ(outcome.overflows[0].at("to"), kRows / 2);
    EXPECT_EQ(outcome.overflows[0].at("left_bytes"), 0) << "allocation " << nth;
    EXPECT_EQ(outcome.state, small.state) << "allocation " << nth;
    EXPECT_TRUE(Says(outcome.words, {"task two ran out of memory with 4 rows at once", "2 at a time"}));
  }
  EXPECT_GT(nth, 50) << "forward and backward of two passes allocate more than that";
}

INSTANTIATE_TEST_SUITE_P(Modes, OomAtEveryAllocation, testing::Values(Mode::kJoint, Mode::kSequential),
                         [](const auto& mode) { return std::string(ModeName(mode.param)); });

// Bytes of the pass that grow with its rows, so that a budget can refuse some and not others.
PassHook Spike(
    std::int64_t bytes_a_row, std::function<bool()> when = [] { return true; }) {
  return [=](PassContext& context) {
    if (when()) at::empty({bytes_a_row * context.batch().size()}, at::kByte);
  };
}

constexpr std::int64_t kMiB = 1 << 20;

void SetRoom(TinyRun& tiny, std::int64_t bytes) {
  const MemoryReading now = ReadMemory(at::kCPU);
  tiny.run.budget.bytes = now.now + now.data + bytes;
}

TEST(OomRecovery, ABudgetThatTakesOneRowIsReachedInTwoCuts) {
  InstallCpuAllocator();
  const ScratchDirectory scratch, plain;
  const auto tiny = RunWith(Config(12), Mode::kSequential, 0, Spike(8 * kMiB));
  SetRoom(*tiny, 12 * kMiB);
  const Outcome outcome = Train(*tiny, scratch.path());
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  ASSERT_EQ(outcome.overflows.size(), 2u);
  EXPECT_EQ(outcome.overflows[0].at("step"), outcome.overflows[1].at("step"));
  EXPECT_EQ(outcome.micro_rows, 1);
  // And is the run that was planned so.
  EXPECT_EQ(outcome.state, Train(*RunWith(Config(12), Mode::kSequential, 1, nullptr), plain.path()).state);
}

TEST(OomRecovery, WhereNotOneRowFitsTheRunEndsSavedWithWhatToDo) {
  InstallCpuAllocator();
  const ScratchDirectory scratch;
  const auto calls = std::make_shared<int>(0);
  const auto tiny =
      RunWith(Config(30), Mode::kSequential, 0, Spike(40 * kMiB, [calls] { return ++*calls > 12; }));
  SetRoom(*tiny, 16 * kMiB);
  const Outcome outcome = Train(*tiny, scratch.path());
  EXPECT_EQ(outcome.code, ExitCode::kDoesNotFit);
  EXPECT_TRUE(Says(outcome.error, {"Task two does not fit", "tasks.two.recompute_every 1",
                                   "one row at a time", "is saved"}));
  EXPECT_EQ(ListCheckpoints(scratch.path()).size(), 1u);
}

TEST(OomRecovery, ASqueezeThatPassesIsForgotten) {
  InstallCpuAllocator();
  const ScratchDirectory scratch;
  const auto calls = std::make_shared<int>(0);
  const auto tiny =
      RunWith(Config(300), Mode::kSequential, 0, Spike(8 * kMiB, [calls] { return ++*calls < 12; }));
  SetRoom(*tiny, 20 * kMiB);
  const Outcome outcome = Train(*tiny, scratch.path());
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_EQ(outcome.overflows.size(), 1u);
  EXPECT_EQ(outcome.micro_rows, 0) << "all rows of a draw again";
  EXPECT_TRUE(Says(outcome.words, {"task two tries 4 rows at once again, after 2"}));
}

TEST(OomRecovery, OtherTasksAndTheMixtureAreLeftAlone) {
  InstallCpuAllocator();
  const ScratchDirectory scratch, plain;
  RunConfig config = Config(20);
  config.draws_per_step = 3;
  const auto tiny = RunWith(config, Mode::kSequential, 0, Spike(8 * kMiB));
  SetRoom(*tiny, 20 * kMiB);
  const Outcome outcome = Train(*tiny, scratch.path());
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  ASSERT_EQ(outcome.overflows.size(), 1u);
  EXPECT_EQ(tiny->run.plans.at("one").micro_rows, 0);
  EXPECT_EQ(tiny->run.plans.at("three").micro_rows, 0);
  // Rows, losses and shares: those of the run that was planned small, line by line.
  EXPECT_EQ(outcome.state.at("metrics.jsonl"),
            Train(*RunWith(config, Mode::kSequential, 2, nullptr), plain.path()).state.at("metrics.jsonl"));
}

TEST(OomRecovery, GrowsInDoublesAndWaitsLongerAfterEachTryThatWasTooEarly) {
  std::map<std::string, ExecutionPlan> plans = {{"a", {.micro_rows = 12}}, {"b", {}}};
  OomRecovery recovery(plans);
  const std::vector<Draw> draws = {{"a", 0, 48}};
  const auto fits_until_it_grows = [&] {
    for (int draw = 1; draw < 10000; ++draw) {
      if (!recovery.Fitted(draws).empty()) return draw;
    }
    return -1;
  };
  EXPECT_EQ(recovery.Shrink("a", 48)->to, 6);
  EXPECT_EQ(recovery.Shrink("a", 48)->to, 3);
  EXPECT_EQ(fits_until_it_grows(), 32);
  EXPECT_EQ(plans.at("a").micro_rows, 6);
  EXPECT_EQ(recovery.Shrink("a", 48)->to, 3) << "too early";
  EXPECT_EQ(fits_until_it_grows(), 64);
  EXPECT_EQ(fits_until_it_grows(), 64);
  EXPECT_EQ(plans.at("a").micro_rows, 12) << "never above the plan";
  EXPECT_EQ(fits_until_it_grows(), -1);
  EXPECT_EQ(plans.at("b").micro_rows, 0);
  EXPECT_EQ(recovery.Shrink("b", 1), std::nullopt) << "one row cannot be cut";
}

TEST(OomRecovery, AResumeGoesOnWithTheSameCuts) {
  std::map<std::string, ExecutionPlan> plans = {{"a", {.micro_rows = 0}}}, again = plans, other = plans;
  OomRecovery recovery(plans), resumed(again), replanned(other);
  recovery.Shrink("a", 48);
  recovery.Fitted({{"a", 0, 48}});
  resumed.Load(recovery.Save());
  EXPECT_EQ(again.at("a").micro_rows, 24);
  EXPECT_EQ(resumed.Save(), recovery.Save());
  other.at("a").micro_rows = 7;
  replanned.Load(recovery.Save());
  EXPECT_EQ(other.at("a").micro_rows, 7) << "another plan starts anew";
}

}  // namespace
}  // namespace medley::testing_fixture
