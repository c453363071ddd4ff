#include <medley/base/line_reader.h>

#include <algorithm>
#include <set>

#include "tests/curriculum/conditions.h"
#include "tests/sweep.h"
#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using conditions::Any;
using conditions::LossBelow;
using conditions::Rows;
using conditions::ScoreOf;
using conditions::Steps;

Stage StageOf(const std::string& name, Weights weights, std::optional<Condition> until = std::nullopt) {
  Stage stage;
  stage.name = name;
  stage.weights = std::move(weights);
  stage.until = std::move(until);
  return stage;
}

Curriculum CurriculumOf(std::vector<Stage> stages) {
  Curriculum curriculum;
  curriculum.stages = std::move(stages);
  return curriculum;
}

std::unique_ptr<TinyRun> MakeStagedRun(const RunConfig& config, const Curriculum& curriculum,
                                       std::map<std::string, RowHook> hooks = {}) {
  auto tiny = MakeTinyRun(config, std::move(hooks));
  tiny->run.curriculum = curriculum;
  tiny->run.forms = FormTable(config, curriculum);
  for (const Form& form : tiny->run.NamedForms()) tiny->executions[form.id] = tiny->run.Configured(form);
  std::map<std::string, TaskSize> sizes;
  for (const auto& [name, task] : tiny->tasks())
    sizes[name] = {.rows = tiny->run.forms.Own(name).settings.rows};
  tiny->run.mixer =
      std::make_unique<Mixer>(curriculum.MixtureOf(0), sizes, static_cast<std::uint64_t>(config.seed));
  return tiny;
}

Ended TrainStages(const fs::path& directory, const RunConfig& config, const Curriculum& curriculum,
                  std::map<std::string, RowHook> hooks = {}) {
  fs::create_directories(directory);
  SilentConsole console;
  const auto tiny = MakeStagedRun(config, curriculum, std::move(hooks));
  const auto found = FindCheckpoint(directory, OnDamage::kSetAside, *console);
  TestTrainer trainer(*tiny, directory, *console, found);
  return TrainToTheEnd(trainer, console);
}

std::vector<nlohmann::json> MetricsOf(const fs::path& run) {
  std::vector<nlohmann::json> lines;
  LineReader file(run / "metrics.jsonl");
  for (std::string line; file.Next(line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::string TasksOf(const std::vector<nlohmann::json>& metrics) {
  std::string tasks;
  for (const auto& line : metrics) tasks += line.at("draws").at(0).at("task").get<std::string>() + " ";
  return tasks;
}

TEST(Stages, FollowEachOtherAndEndTheRun) {
  const ScratchDirectory scratch;
  const Ended ended = TrainStages(
      scratch / "run", TinyConfig(100),
      CurriculumOf({StageOf("a", {{"one", 1}}, Steps(3)), StageOf("b", {{"two", 1}}, Rows(6, "two")),
                    StageOf("c", {{"one", 0}, {"three", 1}}, Steps(4))}));
  EXPECT_EQ(ended.code, ExitCode::kDone) << ended.error;
  EXPECT_EQ(ended.step, 9);
  EXPECT_EQ(TasksOf(MetricsOf(scratch / "run")), "one one one two two three three three three ");
  EXPECT_TRUE(
      Says(ended.words, {"step 3: stage b begins, until 6 rows of two", "step 9: the last stage is over"}));
  const Ended again = TrainStages(
      scratch / "run", TinyConfig(100),
      CurriculumOf({StageOf("a", {{"one", 1}}, Steps(3)), StageOf("b", {{"two", 1}}, Rows(6, "two")),
                    StageOf("c", {{"one", 0}, {"three", 1}}, Steps(4))}));
  EXPECT_EQ(again.code, ExitCode::kDone) << again.error;
  EXPECT_EQ(again.step, 9);
}

TEST(Stages, TheRunsStepsEndItFirst) {
  const ScratchDirectory scratch;
  const Ended ended = TrainStages(
      scratch / "run", TinyConfig(5),
      CurriculumOf({StageOf("a", {{"one", 1}}, Steps(3)), StageOf("b", {{"two", 1}}, Steps(30))}));
  EXPECT_EQ(ended.code, ExitCode::kDone) << ended.error;
  EXPECT_EQ(ended.step, 5);
}

std::vector<double> RatesOf(const fs::path& run) {
  std::vector<double> rates;
  for (const auto& line : MetricsOf(run)) rates.push_back(line.at("lr").get<double>());
  return rates;
}

TEST(Stages, WarmUpAndCoolDown) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(100);
  config.optimizer.warmup_steps = 0;
  config.optimizer.decay_fraction = 0;
  config.optimizer.learning_rate = 1;
  config.optimizer.clip_norm = 1e-3;
  Stage first = StageOf("a", {{"one", 1}}, Steps(2));
  first.cooldown_steps = 4;
  first.cooldown_to = 0.2;
  Stage second = StageOf("b", {{"two", 1}}, Steps(4));
  second.warmup_steps = 3;
  const Ended ended = TrainStages(scratch / "run", config, CurriculumOf({first, second}));
  EXPECT_EQ(ended.code, ExitCode::kDone) << ended.error;
  const std::vector<double> expected = {1, 1, 1, 0.8, 0.6, 0.4, 1. / 3, 2. / 3, 1, 1};
  const std::vector<double> rates = RatesOf(scratch / "run");
  ASSERT_EQ(rates.size(), expected.size());
  for (std::size_t i = 0; i < rates.size(); ++i) EXPECT_NEAR(rates[i], expected[i], 1e-12) << i;
}

// Each as a run of its own would, byte for byte.
TEST(Stages, OfDisjointTasksAreTwoRunsThatAreJoined) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(100);
  config.eval.every = 0;
  config.optimizer.warmup_steps = 0;
  config.optimizer.decay_fraction = 0;
  Stage first = StageOf("a", {{"one", 2}, {"three", 1}}, Steps(6));
  first.cooldown_steps = 4;
  first.cooldown_to = 0;
  Stage second = StageOf("b", {{"two", 1}}, Steps(5));
  second.moments = Moments::kReset;
  second.cooldown_steps = 5;
  second.cooldown_to = 0;
  ASSERT_EQ(TrainStages(scratch / "one", config, CurriculumOf({first, second})).code, ExitCode::kDone);

  config.steps = 10;
  config.optimizer.final_scale = 0;
  config.optimizer.decay_fraction = 0.4;
  ASSERT_EQ(TrainStages(scratch / "a", config, OneStage(first.weights)).code, ExitCode::kDone);
  config.optimizer.decay_fraction = 0.5;
  fs::create_directory(scratch / "b");
  SilentConsole console;
  const auto tiny = MakeStagedRun(config, OneStage(second.weights));
  InitializeFrom({.run = scratch / "a"}, tiny->run.optimizer->weights(), *console);
  TestTrainer trainer(*tiny, scratch / "b", *console);
  ASSERT_EQ(trainer.Train(), ExitCode::kDone);
  for (const char* name : {"model.safetensors", "optim.safetensors"})
    EXPECT_EQ(ReadText(scratch / "one" / "step-00000020" / name),
              ReadText(scratch / "b" / "step-00000010" / name))
        << name;
}

// Ramps, cooldowns, warm-ups, losses, scores and moments: whatever is under way is resumed as it was.
TEST(Stages, AResumeAtEveryStepGivesTheUninterruptedRunBitForBit) {
  RunConfig config = TinyConfig(60);
  config.draws_per_step = 2;
  config.eval.every = 9;
  config.eval.rows = 10;
  Stage first = StageOf("a", {{"one", 2}, {"two", 1}}, Any({LossBelow("two", 1e9), Steps(30)}));
  first.cooldown_steps = 3;
  first.warmup_steps = 2;
  first.keep = true;
  Stage second = StageOf("b", {{"two", 1}, {"three", 3}}, ScoreOf("one", 2, -1));
  second.ramp = {.draws = 15, .shape = RampShape::kCosine};
  second.moments = Moments::kReset;
  second.eval_every = 5;
  second.cooldown_steps = 2;
  second.set.tasks["two"].rows = 4;
  Stage third = StageOf("c", {{"one", 1}}, Steps(6));
  third.ramp = {.draws = 5};
  third.set.tasks["one"].rows = 7;
  third.set.tasks["one"].micro_rows = 3;
  const Curriculum curriculum = CurriculumOf({first, second, third});
  const ScratchDirectory scratch;
  const Ended whole = TrainStages(scratch / "whole", config, curriculum);
  ASSERT_EQ(whole.code, ExitCode::kDone) << whole.error;
  ASSERT_LT(whole.step, 60);
  const auto expected = EndState(scratch / "whole");
  for (const std::int64_t k : test::SliceOfSteps("ResumedStages", 1, whole.step, 4)) {
    const fs::path part = scratch / "part";
    fs::copy(scratch / "whole", part, fs::copy_options::recursive);
    for (const CheckpointEntry& entry : ListCheckpoints(part)) {
      if (entry.step > k) fs::remove_all(entry.path);
    }
    ASSERT_EQ(TrainStages(part, config, curriculum).code, ExitCode::kDone);
    EXPECT_EQ(EndState(part), expected) << "resumed after step " << k;
    fs::remove_all(part);
  }
}

// The rows of every step, and where they begin.
std::string RowsOf(const std::vector<nlohmann::json>& metrics) {
  std::string rows;
  std::map<std::string, std::int64_t> next;
  for (const auto& line : metrics) {
    const auto& draw = line.at("draws").at(0);
    const auto task = draw.at("task").get<std::string>();
    const auto begin = draw.at("begin").get<std::int64_t>(), count = draw.at("rows").get<std::int64_t>();
    EXPECT_EQ(begin, next[task]) << "row numbers go on";
    next[task] = begin + count;
    rows += task + std::to_string(count) + " ";
  }
  return rows;
}

TEST(Stages, SetWhatATasksSettingsAreWhileTheyLast) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(100);
  config.eval.every = 0;
  Stage second = StageOf("b", {{"one", 1}}, Steps(2));
  second.set.tasks["one"].rows = 8;
  second.set.tasks["one"].micro_rows = 4;
  const Curriculum curriculum =
      CurriculumOf({StageOf("a", {{"one", 1}}, Steps(2)), second, StageOf("c", {{"one", 1}}, Steps(1))});
  std::map<std::string, std::string> first;
  for (const std::int64_t threads : {0, 1, 4}) {
    config.data = {.threads = threads, .ahead = threads == 4 ? 16 : 4};
    const fs::path run = scratch / std::to_string(threads);
    EXPECT_EQ(TrainStages(run, config, curriculum).code, ExitCode::kDone);
    EXPECT_EQ(RowsOf(MetricsOf(run)), "one5 one5 one8 one8 one5 ");
    auto state = EndState(run);
    if (first.empty()) first = state;
    EXPECT_EQ(state, first) << threads << " data threads";
    const std::string receipt = ReadText(run / "receipt.json");
    EXPECT_TRUE(Says(receipt, {"\"one\": [", FormTable(config, curriculum).Of(second, "one").id.text()}))
        << receipt;
  }
}

TEST(Stages, TheLastCheckpointOfAStageThatIsKeptStays) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(100);
  config.eval.every = 0;
  config.checkpoint = {.every = 4, .keep = 1};
  Stage first = StageOf("a", {{"one", 1}}, Steps(3));
  first.keep = true;
  TrainStages(scratch / "run", config, CurriculumOf({first, StageOf("b", {{"two", 1}}, Steps(10))}));
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry& entry : ListCheckpoints(scratch / "run")) steps.push_back(entry.step);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{13, 3}));
}

TEST(Stages, AskForScoresThatChooseNoBestCheckpoint) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(100);
  config.eval = {.every = 10, .rows = 8};
  Stage first = StageOf("a", {{"one", 1}}, ScoreOf("two", 3, -1));
  first.eval_every = 4;
  TrainStages(scratch / "run", config, CurriculumOf({first, StageOf("b", {{"two", 1}}, Steps(10))}));
  const auto metrics = MetricsOf(scratch / "run");
  std::map<std::int64_t, std::string> evaluated;
  for (const auto& line : metrics) {
    if (!line.contains("eval")) continue;
    for (const auto& [task, score] : line["eval"].items()) evaluated[line["step"]] += task + " ";
  }
  EXPECT_EQ(evaluated, (std::map<std::int64_t, std::string>{
                           {4, "two "}, {8, "two "}, {10, "one "}, {12, "two "}, {20, "two "}}));
  const auto facts = [&](const char* name) {
    return nlohmann::json::parse(ReadText(scratch / "run" / name / "manifest.json"))
        .at("facts")
        .at("evaluated");
  };
  EXPECT_TRUE(facts("step-00000009").is_null());
  EXPECT_EQ(facts("step-00000012").at("tasks"), nlohmann::json({"one"}));
  EXPECT_EQ(facts("step-00000012").at("stage"), "a");
  EXPECT_TRUE(facts("step-00000013").is_null());
  EXPECT_EQ(facts("step-00000020").at("stage"), "b");
}

RowHook FailsFrom(std::int64_t row) {
  return [row](const RowRange& rows) {
    if (rows.begin >= row) throw Error("the camera is gone");
  };
}

RunConfig DroppingConfig() {
  RunConfig config = TinyConfig(100);
  config.on_task_error = "drop";
  config.eval.every = 0;
  return config;
}

TEST(Stages, AStageThatADropEmptiedIsPassedThrough) {
  const ScratchDirectory scratch;
  RunConfig config = DroppingConfig();
  config.data.threads = 0;
  const Curriculum curriculum =
      CurriculumOf({StageOf("a", {{"two", 1}}, Steps(5)), StageOf("b", {{"two", 2}}, Steps(5)),
                    StageOf("c", {{"one", 1}}, Rows(1, "one"))});
  const Ended ended = TrainStages(scratch / "run", config, curriculum, {{"two", FailsFrom(6)}});
  EXPECT_EQ(ended.code, ExitCode::kSomethingDropped) << ended.error;
  EXPECT_EQ(TasksOf(MetricsOf(scratch / "run")), "two two one ");
  EXPECT_TRUE(Says(ended.words, {"step 2: stage a is passed through: all of its tasks were dropped",
                                 "step 2: stage b is passed through"}));
}

TEST(Stages, AStageThatADropBeforeTheFirstStepEmptiedIsPassedThrough) {
  const ScratchDirectory scratch;
  RunConfig config = DroppingConfig();
  config.eval.at_start = true;
  const RowHook fails_in_evaluations = [](const RowRange& rows) {
    if (rows.split == Split::kHeldOut) throw Error("the camera is gone");
  };
  const Curriculum curriculum =
      CurriculumOf({StageOf("a", {{"two", 1}}, Steps(5)), StageOf("b", {{"one", 1}}, Rows(1, "one"))});
  const Ended ended = TrainStages(scratch / "run", config, curriculum, {{"two", fails_in_evaluations}});
  EXPECT_EQ(ended.code, ExitCode::kSomethingDropped) << ended.error;
  std::vector<nlohmann::json> metrics = MetricsOf(scratch / "run");
  EXPECT_EQ(metrics.front().at("step"), 0);
  metrics.erase(metrics.begin());
  EXPECT_EQ(TasksOf(metrics), "one ");
  EXPECT_TRUE(Says(ended.words, {"step 0: stage a is passed through: all of its tasks were dropped"}));
}

TEST(Stages, AConditionThatADropEmptiedIsPassedThrough) {
  const ScratchDirectory scratch;
  const Ended ended =
      TrainStages(scratch / "run", DroppingConfig(),
                  CurriculumOf({StageOf("a", {{"two", 1}, {"one", 1}}, Rows(1000, "two")),
                                StageOf("b", {{"one", 1}}, Any({Rows(5, "one"), Steps(90)}))}),
                  {{"two", FailsFrom(6)}});
  EXPECT_EQ(ended.code, ExitCode::kSomethingDropped) << ended.error;
  EXPECT_TRUE(Says(ended.words,
                   {"stage a is passed through: it waits for tasks that were dropped (1000 rows of two)"}));
  EXPECT_LT(ended.step, 10);
}

// What follows is as if the stage had never stood there: weights, moments, draws, and the ramp's beginning.
TEST(Stages, WhatIsPassedThroughLeavesNoTrace) {
  const ScratchDirectory scratch;
  RunConfig config = DroppingConfig();
  config.data.threads = 0;
  const Stage first = StageOf("a", {{"one", 1}, {"two", 1}}, Rows(1000, "two"));
  Stage passed = StageOf("b", {{"three", 1}}, ScoreOf("two", 2, -1));
  passed.moments = Moments::kReset;
  passed.warmup_steps = 9;
  passed.set.tasks["three"].rows = 7;
  Stage last = StageOf("c", {{"one", 1}, {"three", 1}}, Steps(30));
  last.ramp = {.draws = 20};
  last.set.tasks["one"].rows = 4;
  const std::map<std::string, RowHook> hooks = {{"two", FailsFrom(6)}};
  const Ended with =
      TrainStages(scratch / "with", config, CurriculumOf({first, passed, passed, last}), hooks);
  const Ended without = TrainStages(scratch / "without", config, CurriculumOf({first, last}), hooks);
  EXPECT_EQ(with.code, ExitCode::kSomethingDropped) << with.error;
  EXPECT_TRUE(Says(with.words, {"stage b is passed through: it waits for tasks that were dropped (two"}))
      << with.words;
  EXPECT_FALSE(Says(with.words, {"stage b begins"}));
  EXPECT_EQ(with.step, without.step);
  EXPECT_EQ(RowsOf(MetricsOf(scratch / "with")), RowsOf(MetricsOf(scratch / "without")));
  const std::string end = ListCheckpoints(scratch / "with").at(0).path.filename();
  for (const char* name : {"model.safetensors", "optim.safetensors"})
    EXPECT_EQ(ReadText(scratch / "with" / end / name), ReadText(scratch / "without" / end / name)) << name;
  const WeightLog log(scratch / "with");
  for (const WeightEntry& entry : log.entries()) EXPECT_NE(entry.name, "b");
}

TEST(Stages, ARunThatAPassedStageEndedStillHasTheSharesThatWereDrawn) {
  const ScratchDirectory scratch;
  const Curriculum curriculum =
      CurriculumOf({StageOf("a", {{"one", 1}, {"two", 1}}, Any({Rows(1000, "two"), Steps(9)})),
                    StageOf("b", {{"three", 1}}, ScoreOf("two", 2, -1))});
  const Ended first = TrainStages(scratch / "run", DroppingConfig(), curriculum, {{"two", FailsFrom(6)}});
  EXPECT_TRUE(Says(first.words, {"the last stage is over"})) << first.words;
  SilentConsole console;
  const auto tiny = MakeStagedRun(DroppingConfig(), curriculum);
  const auto found = FindCheckpoint(scratch / "run", OnDamage::kSetAside, *console);
  TestTrainer trainer(*tiny, scratch / "run", *console, found);
  const Ended ended = TrainToTheEnd(trainer, console);
  EXPECT_EQ(ended.code, ExitCode::kSomethingDropped) << ended.error;
  EXPECT_EQ(ended.step, first.step);
  EXPECT_EQ(tiny->run.mixer->Shares().at("one").asked, 1);
  EXPECT_EQ(tiny->run.mixer->Shares().at("three").asked, 0);
}

TEST(Stages, WithoutAnyTaskLeftTheRunFails) {
  const ScratchDirectory scratch;
  const Ended ended =
      TrainStages(scratch / "run", DroppingConfig(),
                  CurriculumOf({StageOf("a", {{"one", 1}}, Steps(1)), StageOf("b", {{"two", 1}})}),
                  {{"two", FailsFrom(6)}});
  EXPECT_EQ(ended.code, ExitCode::kFailed);
  EXPECT_TRUE(Says(ended.error, {"no task is left", "the camera is gone"}));
}

// The mixer still knows what it drew, which the summary tells.
TEST(Stages, ATaskThatTheRunNamesNoMoreStaysInItsSummary) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(4);
  TrainStages(scratch / "run", config, CurriculumOf({StageOf("", {{"one", 1}, {"two", 1}})}));
  config.steps = 6;
  config.tasks.erase("two");
  const Ended ended = TrainStages(scratch / "run", config, CurriculumOf({StageOf("", {{"one", 1}})}));
  EXPECT_EQ(ended.code, ExitCode::kDone) << ended.error;
  EXPECT_EQ(ended.step, 6);
  EXPECT_TRUE(Says(ended.words, {"\none", "\ntwo"})) << ended.words;
}

TEST(Stages, ThatWereBegunKeepTheirPlaces) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(4);
  const auto stages = [](const char* second) {
    return CurriculumOf({StageOf("a", {{"one", 1}}, Steps(3)), StageOf(second, {{"two", 1}})});
  };
  TrainStages(scratch / "run", config, stages("b"));
  config.steps = 6;
  EXPECT_THROW(TrainStages(scratch / "run", config, stages("c")), Error);
  EXPECT_EQ(TrainStages(scratch / "run", config, stages("b")).step, 6);
}

}  // namespace
}  // namespace medley::testing_fixture
