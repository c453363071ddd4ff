// Whole runs that predict weights: with the trial's own verdicts, and with forced ones.

#include <c10/core/CachingDeviceAllocator.h>
#include <medley/base/interrupt.h>
#include <medley/base/random.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/report/metrics.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/sweep.h"
#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kSteps = 18;

RunConfig WithPhases(std::int64_t steps, const char* dtype = "fp32") {
  RunConfig config = TinyConfig(steps);
  config.dtype = dtype;
  config.eval = {.every = 0, .rows = 40};
  config.phases = PhasesConfig{.warmup_steps = 3, .full_steps = 5, .correct_steps = 2, .allowance = 0.5};
  config.optimizer.average = 0.9;
  config.optimizer.keeps_line = config.optimizer.keeps_last_step = true;
  return config;
}

struct PhasedOutcome {
  Ended ended;
  std::map<std::string, std::string> end;  // see EndState
  std::vector<json> steps, predictions;    // lines of metrics.jsonl
  std::vector<json> timing;
  std::string words;
};

std::vector<json> LinesOf(const fs::path& file) {
  std::vector<json> lines;
  std::istringstream text(ReadText(file));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

PhasedOutcome TrainPhased(const fs::path& directory, TinyRun& tiny, const PredictorHooks& hooks = {}) {
  SilentConsole console;
  const auto found = FindCheckpoint(directory, OnDamage::kSetAside, *console);
  TestTrainer trainer(tiny, directory, *console, found, SteadySeconds, hooks);
  PhasedOutcome outcome;
  outcome.ended = TrainToTheEnd(trainer, console);
  outcome.end = EndState(directory);
  for (json& line : LinesOf(directory / kMetricsLog))
    (line.contains(kTransition) ? outcome.predictions : outcome.steps).push_back(std::move(line));
  outcome.timing = LinesOf(directory / kTimingLog);
  outcome.words = console.words();
  return outcome;
}

PhasedOutcome TrainPhased(const fs::path& directory, const RunConfig& config,
                          const PredictorHooks& hooks = {}, std::map<std::string, RowHook> on_rows = {}) {
  fs::create_directories(directory);
  return TrainPhased(directory, *MakeTinyRun(config, std::move(on_rows)), hooks);
}

bool IsProbe(const RowRange& rows) {
  for (const char* task : {"one", "two", "three"}) {
    if (rows.seed == TaskSeed(3, task)) return false;
  }
  return rows.split == Split::kTraining && !rows.longest;
}

// Behind some steps a prediction that is taken, behind others one that is refused, or taken and undone.
PredictorHooks OfAllKinds() {
  return {.is_due = [](std::int64_t step) { return step >= 5; },
          .stretch = [](std::int64_t step) { return step % 3 == 1 ? std::nan("") : 0.1; },
          .verdict = [](std::int64_t step, bool) { return step % 3 != 2; }};
}

TEST(Phases, ResumedAfterEveryStepARunIsTheUninterruptedOneBitForBit) {
  const ScratchDirectory scratch;
  for (const char* dtype : {"fp32", "bf16"}) {
    RunConfig config = WithPhases(kSteps, dtype);
    config.eval.every = 5;
    config.phases->correct_steps = 1;
    const fs::path whole = scratch / (std::string("whole-") + dtype);
    const PhasedOutcome expected = TrainPhased(whole, config, OfAllKinds());
    ASSERT_EQ(expected.ended.code, ExitCode::kDone) << expected.ended.error;
    std::map<std::string, int> kinds;
    for (const json& line : expected.predictions) {
      const json& jump = line.at("jump");
      ++kinds[jump.at("taken").get<bool>()                                            ? "taken"
              : jump.at("why").get<std::string>().find("undone") != std::string::npos ? "undone"
                                                                                      : "refused"];
    }
    EXPECT_GE(kinds["taken"], 2);
    EXPECT_GE(kinds["refused"], 2);
    EXPECT_GE(kinds["undone"], 1) << dtype;
    for (const std::int64_t k : test::SliceOfSteps(std::string("ResumedPhases.") + dtype, 1, kSteps, 4)) {
      const fs::path part = scratch / (std::string(dtype) + std::to_string(k));
      fs::copy(whole, part, fs::copy_options::recursive);
      for (const CheckpointEntry& entry : ListCheckpoints(part)) {
        if (entry.step > k) fs::remove_all(entry.path);
      }
      EXPECT_EQ(TrainPhased(part, config, OfAllKinds()).end, expected.end) << "resumed after step " << k;
      fs::remove_all(part);
    }
  }
}

std::map<std::string, std::string> Trained(const PhasedOutcome& outcome) {
  std::map<std::string, std::string> trained;
  for (const char* file : {"model.safetensors", "optim.safetensors", "losses.csv"})
    trained[file] = outcome.end.at(file);
  return trained;
}

TEST(Phases, ARefusedJumpAndAnUndoneOneLeaveTheRunAsItWere) {
  const ScratchDirectory scratch;
  for (const char* dtype : {"fp32", "bf16"}) {
    RunConfig config = WithPhases(140, dtype);  // all tasks have twenty draws long before the end
    config.checkpoint.every = 0;
    const auto train = [&](const std::string& name, const PredictorHooks& hooks) {
      return TrainPhased(scratch / (name + dtype), config, hooks);
    };
    const auto late = [](std::int64_t step) { return step >= 128 && step % 3 == 0; };
    const PhasedOutcome never = train("never", {.is_due = [](std::int64_t) { return false; }});
    const PhasedOutcome refused =
        train("refused", {.is_due = late, .verdict = [](auto, auto) { return false; }});
    const PhasedOutcome undone = train(
        "undone",
        {.is_due = late, .stretch = [](auto) { return 1e3; }, .verdict = [](auto, auto) { return true; }});
    const PhasedOutcome taken = train("taken", {.is_due = late, .verdict = [](auto, auto) { return true; }});
    EXPECT_TRUE(never.predictions.empty());
    EXPECT_EQ(refused.predictions.size(), 4u);
    EXPECT_EQ(undone.predictions.size(), 4u);
    for (const json& line : undone.predictions) {
      EXPECT_FALSE(line.at("jump").at("taken"));
      EXPECT_EQ(line.at("jump").at("why").get<std::string>().find("undone: "), 0u) << line;
    }
    EXPECT_EQ(Trained(refused), Trained(never)) << dtype;
    EXPECT_EQ(Trained(undone), Trained(never)) << dtype;
    EXPECT_NE(Trained(taken), Trained(never));
    for (const json& line : taken.predictions) EXPECT_TRUE(line.at("jump").at("taken")) << line;

    RunConfig plain = config;
    plain.phases.reset();
    plain.optimizer.keeps_line = plain.optimizer.keeps_last_step = false;
    EXPECT_EQ(TrainPhased(scratch / (std::string("off") + dtype), plain).end.at("model.safetensors"),
              never.end.at("model.safetensors"))
        << "phases themselves move nothing";
  }
}

// Plants gradients that are not finite into so many tries of a step behind a jump.
TEST(Phases, AJumpWhoseGradientOverflowsRunsAgainAtHalfTheScaleAndOneThatNeverFitsIsUndone) {
  const ScratchDirectory scratch;
  RunConfig config = WithPhases(14, "fp16");
  config.checkpoint.every = 0;
  constexpr int kAllScales = 17;
  const auto train = [&](const std::string& name, int planted, bool verdict, double scale) {
    fs::create_directories(scratch / name);
    const auto tiny = MakeTinyRun(config);
    for (auto& [task, execution] : tiny->executions) execution.way.mode = Mode::kJoint;
    int left = 0;
    tiny->run.model->parameters().front().tensor.register_hook([&](const at::Tensor& gradient) {
      return left > 0 ? (--left, gradient * std::numeric_limits<double>::infinity()) : gradient;
    });
    SilentConsole console;
    TestTrainer trainer(*tiny, scratch / name, *console, std::nullopt, SteadySeconds,
                        {.is_due = [](std::int64_t step) { return step == 8; },
                         .stretch = [](auto) { return 0.1; },
                         .verdict = [&](auto, auto) { return left = planted, verdict; }});
    trainer.BeginAtLossScale(scale);
    EXPECT_EQ(trainer.Train(), ExitCode::kDone);
    PhasedOutcome outcome;
    outcome.end = EndState(scratch / name);
    outcome.timing = LinesOf(scratch / name / kTimingLog);
    for (json& line : LinesOf(scratch / name / kMetricsLog))
      if (line.contains(kTransition)) outcome.predictions.push_back(std::move(line));
    return outcome;
  };
  const PhasedOutcome again = train("again", 1, true, 1024), low = train("low", 0, true, 512);
  ASSERT_EQ(again.predictions.size(), 1U);
  EXPECT_EQ(again.predictions, low.predictions) << "charged once";
  EXPECT_TRUE(again.predictions.front().at("jump").at("taken")) << again.predictions.front();
  EXPECT_EQ(Trained(again), Trained(low));
  EXPECT_EQ(again.timing.back().at("loss_scale").at("scale"), 512);

  const PhasedOutcome undone = train("undone", kAllScales, true, 65536),
                      refused = train("refused", 0, false, 65536);
  EXPECT_EQ(undone.predictions.at(0).at("jump").value("why", ""), "undone: the gradient is not finite");
  EXPECT_EQ(Trained(undone), Trained(refused));
  EXPECT_EQ(undone.timing.back().at("loss_scale").at("scale"), 65536);
}

TEST(Phases, TheTrialItselfRefusesWhatIsNoGood) {
  const ScratchDirectory scratch;
  const auto why = [&](const std::string& name, const PredictorHooks& kind) {
    PredictorHooks hooks = kind;
    hooks.is_due = [](std::int64_t step) { return step == 12; };
    const PhasedOutcome outcome = TrainPhased(scratch / name, WithPhases(16), hooks);
    EXPECT_EQ(outcome.ended.code, ExitCode::kDone) << outcome.ended.error;
    if (outcome.predictions.size() != 1) return std::string("no prediction");
    EXPECT_FALSE(outcome.predictions.front().at("jump").at("taken")) << name;
    return outcome.predictions.front().at("jump").value("why", "");
  };
  EXPECT_NE(why("nan", {.stretch = [](auto) { return std::nan(""); }}).find("not finite"), std::string::npos);
  EXPECT_NE(why("hundredfold", {.stretch = [](auto) { return 100; }}), "");
  EXPECT_NE(why("nan weights", {.meddle = [](at::Tensor& values) { values.fill_(std::nan("")); }})
                .find("not finite"),
            std::string::npos);
  EXPECT_NE(why("shape", {.meddle =
                              [](at::Tensor& values) {
                                if (values.dim() == 1) values = values.narrow(0, 0, 1);
                              }})
                .find("another shape"),
            std::string::npos);
}

TEST(Phases, StepsSayTheirPhaseAndEachChangeItsBytes) {
  const ScratchDirectory scratch;
  InstallCpuAllocator();
  const PhasedOutcome outcome = TrainPhased(scratch.path() / "run", WithPhases(16),
                                            {.is_due = [](std::int64_t step) { return step == 8; },
                                             .stretch = [](auto) { return 1e-3; },
                                             .verdict = [](auto, auto) { return true; }});
  std::string phases;
  for (const json& line : outcome.steps) phases += line.at("phase").get<std::string>().substr(0, 1);
  EXPECT_EQ(phases, "wwwfffffccffffff");
  std::vector<std::string> changes;
  for (const json& line : outcome.timing) {
    if (!line.contains(kTransition)) continue;
    changes.push_back(std::to_string(line.at("step").get<int>()) + " " +
                      line.at(kTransition).at("from").get<std::string>() + " " +
                      line.at(kTransition).at("to").get<std::string>());
    for (const char* bytes : {"memory_before", "memory_after", "memory_peak", "memory_held"})
      EXPECT_GT(line.at(bytes).get<std::int64_t>(), 0) << bytes << ": " << line;
    EXPECT_EQ(line.at("weight_copies"), 0);
    EXPECT_GE(line.at("memory_peak"), line.at("memory_before"));
  }
  EXPECT_EQ(changes, (std::vector<std::string>{"3 warmup full", "8 full predict", "8 predict correct",
                                               "10 correct full"}));
  ASSERT_EQ(outcome.predictions.size(), 1u);
  const json& jump = outcome.predictions.front().at("jump");
  EXPECT_EQ(outcome.predictions.front().at("step"), 8);
  EXPECT_EQ(jump.at("row_forwards"), 2 * 32 * 3);
  EXPECT_EQ(jump.at("tasks").size(), 3u);
  EXPECT_TRUE(jump.at("taken") && jump.at("gain").is_number() && jump.at("standard_error") > 0);
}

TEST(Phases, PredictionsCostNoMoreThanTheirAllowanceAndWhatTheyEarned) {
  const ScratchDirectory scratch;
  RunConfig config = WithPhases(400);
  config.phases->allowance = 0.3;
  config.checkpoint.every = 0;
  const PhasedOutcome outcome = TrainPhased(scratch / "run", config);
  ASSERT_GE(outcome.predictions.size(), 3u);
  std::map<std::int64_t, std::int64_t> trained;  // row-forwards up to a step
  std::int64_t sum = 0;
  for (const json& line : outcome.steps) {
    for (const json& draw : line.at("draws")) sum += 3 * draw.at("rows").get<std::int64_t>();
    trained[line.at("step")] = sum;
  }
  std::int64_t spent = 0;
  bool taken = false;
  for (const json& line : outcome.predictions) {
    spent += line.at("jump").at("row_forwards").get<std::int64_t>();
    taken = taken || line.at("jump").at("taken");
    if (!taken) {
      EXPECT_LE(spent, 0.3 * static_cast<double>(trained.at(line.at("step")) + spent)) << line;
    }
  }
}

TEST(Phases, AThousandForcedJumpsLeaveNothingBehind) {
  for (const int taken : test::Slice<int>("AThousandJumps", {true, false}, 2)) {
    const ScratchDirectory scratch;
    InstallCpuAllocator();
    RunConfig config = WithPhases(1000);
    config.checkpoint.every = 0;
    config.data.threads = 0;
    fs::create_directories(scratch / "run");
    const auto tiny = MakeTinyRun(config);
    tiny->run.budget.bytes = ReadCpuMemory().now + 64 * kMiB;
    const PhasedOutcome outcome = TrainPhased(scratch / "run", *tiny,
                                              {.is_due = [](auto) { return true; },
                                               .stretch = [](auto) { return 1e-4; },
                                               .verdict = [taken](auto, auto) { return taken; }});
    ASSERT_EQ(outcome.ended.code, ExitCode::kDone) << outcome.ended.error;
    EXPECT_EQ(outcome.predictions.size(), 1000u);
    std::set<std::int64_t> floors;
    std::int64_t backward_rows = 0, probe_rows = 0;
    for (const json& line : outcome.timing) {
      EXPECT_FALSE(line.contains("guard")) << line;
      if (line.contains(kTransition)) {
        EXPECT_EQ(line.at("weight_copies"), 0) << line;
        continue;
      }
      if (line.at("step") > 50) floors.insert(line.at("memory_now").get<std::int64_t>());
    }
    for (const json& line : outcome.steps)
      for (const json& draw : line.at("draws")) backward_rows += draw.at("rows").get<std::int64_t>();
    for (const json& line : outcome.predictions)
      probe_rows += line.at("jump").at("row_forwards").get<std::int64_t>();
    EXPECT_GT(probe_rows, backward_rows) << "of the forwards, at least 40 % without a backward";
    EXPECT_EQ(floors.size(), 1u) << *floors.begin() << " to " << *floors.rbegin();
  }
}

TEST(Phases, AnInterruptInAProbeForgetsThePrediction) {
  const ScratchDirectory scratch;
  const RunConfig config = WithPhases(kSteps);
  const PredictorHooks hooks = {.is_due = [](std::int64_t step) { return step >= 8 && step % 4 == 0; },
                                .stretch = [](auto) { return 0.1; },
                                .verdict = [](auto, auto) { return true; }};
  const PhasedOutcome whole = TrainPhased(scratch / "whole", config, hooks);
  ASSERT_EQ(whole.ended.code, ExitCode::kDone) << whole.ended.error;
  const fs::path part = scratch / "part";
  int probes = 0;
  const PhasedOutcome first = TrainPhased(part, config, hooks, {{"two", [&](const RowRange& rows) {
                                                                   if (IsProbe(rows) && ++probes == 13)
                                                                     RequestInterrupt();
                                                                 }}});
  ForgetInterrupt();
  EXPECT_EQ(first.ended.code, ExitCode::kInterrupted);
  EXPECT_EQ(first.ended.step, 12);
  EXPECT_EQ(first.predictions.size(), 1u) << "the second was not written down";
  EXPECT_EQ(TrainPhased(part, config, hooks).end, whole.end);
}

TEST(Phases, MemoryThatRunsOutInAProbeEndsNoRun) {
  const ScratchDirectory scratch;
  for (const std::int64_t fits : {2, 0}) {
    const PhasedOutcome outcome =
        TrainPhased(scratch / ("fits" + std::to_string(fits)), WithPhases(14),
                    {.is_due = [](std::int64_t step) { return step == 8; }},
                    {{"two", [&](const RowRange& rows) {
                        if (IsProbe(rows) && rows.count > fits && rows.count <= 4)
                          throw c10::OutOfMemoryError({__func__, __FILE__, 0}, "no room");
                      }}});
    EXPECT_EQ(outcome.ended.code, ExitCode::kDone) << outcome.ended.error;
    ASSERT_EQ(outcome.predictions.size(), 1u);
    const std::string why = outcome.predictions.front().at("jump").value("why", "");
    EXPECT_EQ(why.find("not one probe row fits") == 0, fits == 0) << why;
  }
}

TEST(Phases, ATaskThatFailsInAProbeIsDroppedAndNothingIsPredictedForAWhile) {
  const ScratchDirectory scratch;
  RunConfig config = WithPhases(30);
  config.phases->allowance = 0.9;
  const auto fails = [](const RowRange& rows) {
    if (IsProbe(rows) && rows.count == 4) throw std::runtime_error("no such row");
  };
  const PhasedOutcome stopped = TrainPhased(scratch / "stop", config, {}, {{"two", fails}});
  EXPECT_NE(stopped.ended.error.find("no such row"), std::string::npos) << stopped.ended.error;
  EXPECT_NE(stopped.ended.error.find("a prediction, rows of task two"), std::string::npos);
  config.on_task_error = "drop";
  const PhasedOutcome dropped = TrainPhased(scratch / "drop", config, {}, {{"two", fails}});
  EXPECT_EQ(dropped.ended.code, ExitCode::kSomethingDropped) << dropped.ended.error;
  EXPECT_EQ(dropped.ended.step, 30);
  ASSERT_FALSE(dropped.predictions.empty());
  EXPECT_EQ(dropped.predictions.front().at("jump").at("tasks").size(), 2u);
  EXPECT_GE(dropped.predictions.front().at("step").get<int>(), stopped.ended.step + 5);
}

}  // namespace
}  // namespace medley::testing_fixture
