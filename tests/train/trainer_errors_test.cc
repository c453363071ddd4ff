#include <c10/util/Exception.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/score_report.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/report/metrics.h>
#include <medley/train/sound_checkpoint.h>

#include <atomic>

#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;

// A draw of task "two" behind its first. (A contract check samples 1 to 3 of the first's rows, an evaluation
// 32 or 8.)
bool IsLaterDraw(const RowRange& rows) { return rows.count == 3 && rows.begin >= 3; }

RowHook FailSecondDraw() {
  return [](const RowRange& rows) {
    if (IsLaterDraw(rows)) throw std::runtime_error("the camera is gone");
  };
}

Ended TrainWithHooks(const fs::path& directory, const RunConfig& config,
                     std::map<std::string, RowHook> hooks) {
  SilentConsole console;
  const auto tiny = MakeTinyRun(config, std::move(hooks));
  TestTrainer trainer(*tiny, directory, *console);
  return TrainToTheEnd(trainer, console);
}

TEST(TaskErrors, StopSavesWhatWasTrainedAndNamesPluginTaskAndPhase) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(30);
  config.checkpoint.every = 0;
  const Ended outcome = TrainWithHooks(scratch.path(), config, {{"two", FailSecondDraw()}});
  EXPECT_EQ(outcome.code, ExitCode::kFailed);
  EXPECT_TRUE(Says(outcome.error, {"fixture", "two", "sampl", "the camera is gone", "medley resume"}));
  ASSERT_EQ(ListCheckpoints(scratch.path()).size(), 1u);
  EXPECT_EQ(ListCheckpoints(scratch.path())[0].step, outcome.step);
  EXPECT_GT(outcome.step, 1);
}

// As an illegal access leaves it: every later call on the device fails, also those of a save.
TEST(TaskErrors, AFailedDeviceEndsTheRunAtOnceDropsNobodyAndSavesNothing) {
  const auto fail = [](const std::function<bool(const RowRange&)>& when) {
    return [=](const RowRange& rows) {
      if (when(rows))
        throw c10::AcceleratorError({}, 700, "CUDA error: an illegal memory access was encountered");
    };
  };
  const auto is_second_evaluation = [seen = std::make_shared<std::atomic<int>>(0)](const RowRange& rows) {
    return rows.count == 32 && ++*seen >= 2;
  };
  const auto is_fourth_draw = [](const RowRange& rows) { return rows.count == 3 && rows.begin >= 9; };
  for (const auto& [what, hook] :
       {std::pair("a draw", fail(is_fourth_draw)), std::pair("an evaluation", fail(is_second_evaluation))}) {
    const ScratchDirectory scratch;
    RunConfig config = TinyConfig(30);
    config.on_task_error = "drop";
    config.checkpoint.every = 3;
    const Ended outcome = TrainWithHooks(scratch.path(), config, {{"two", hook}});
    EXPECT_EQ(outcome.code, ExitCode::kFailed) << what;
    EXPECT_TRUE(Says(outcome.error, {"the device failed", "illegal memory access", "step-"}))
        << outcome.error;
    EXPECT_TRUE(outcome.dropped.empty()) << what;
    const auto saved = ListCheckpoints(scratch.path());
    ASSERT_FALSE(saved.empty()) << what;
    EXPECT_EQ(saved.front().step % 3, 0) << what;
  }
}

TEST(TaskErrors, BadInputThatATaskFindsKeepsItsCodeAndIsToBeMended) {
  const RowHook refuse = [](const RowRange&) { throw InputError("the map has no north"); };
  for (const auto& [on_error, code] :
       {std::pair("stop", ExitCode::kBadInput), std::pair("drop", ExitCode::kSomethingDropped)}) {
    const ScratchDirectory scratch;
    RunConfig config = TinyConfig(30);
    config.on_task_error = on_error;
    const Ended outcome = TrainWithHooks(scratch.path(), config, {{"two", refuse}});
    EXPECT_EQ(outcome.code, code) << on_error;
    EXPECT_TRUE(Says(outcome.error + outcome.words, {"fixture", "two", "the map has no north"}));
    if (code == ExitCode::kBadInput) {
      EXPECT_TRUE(Says(outcome.error, {"mend what is wrong, then medley resume", "--allow-changed FILE"}));
    }
  }
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(30);
  config.on_task_error = "drop";
  EXPECT_EQ(
      TrainWithHooks(scratch.path(), config, {{"one", refuse}, {"two", refuse}, {"three", refuse}}).code,
      ExitCode::kBadInput)
      << "no task is left";
}

TEST(TaskErrors, BadInputThatAnEvaluationFindsKeepsItsCode) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(30);
  const RowHook refuse_evaluation = [](const RowRange& rows) {
    if (rows.count > 5) throw InputError("the map has no north");
  };
  const Ended outcome = TrainWithHooks(scratch.path(), config, {{"two", refuse_evaluation}});
  EXPECT_EQ(outcome.code, ExitCode::kBadInput);
  EXPECT_TRUE(Says(outcome.error, {"evaluation of two after step 5", "the map has no north", "mend"}));
}

TEST(TaskErrors, AFailedSaveDoesNotHideWhyTheRunEnds) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "run");
  RunConfig config = TinyConfig(30);
  config.checkpoint.every = 0;
  const RowHook fail_and_lose_the_disk =
      [&, draws = std::make_shared<std::atomic<int>>(0)](const RowRange& rows) {
        if (rows.count != 3 || ++*draws < 2) return;
        fs::rename(scratch / "run", scratch / "gone");
        throw std::runtime_error("the camera is gone");
      };
  const Ended outcome = TrainWithHooks(scratch / "run", config, {{"two", fail_and_lose_the_disk}});
  EXPECT_EQ(outcome.code, ExitCode::kFailed);
  EXPECT_TRUE(Says(outcome.error, {"the camera is gone", "was not saved", "No such file"}));
}

// One task needs more than there is; it is found among the three of the step.
TEST(TaskErrors, OutOfMemoryHasItsOwnExitCodeAndNamesTheTaskAndTheSetting) {
  InstallCpuAllocator();
  for (const int draws_per_step : {1, 3}) {
    const ScratchDirectory scratch;
    RunConfig config = TinyConfig(30);
    config.draws_per_step = draws_per_step;
    const RowHook greedy = [](const RowRange& rows) {
      if (IsLaterDraw(rows)) at::empty({1 << 30}, at::kByte);
    };
    SetCpuBudget(ReadCpuMemory().now + (1 << 26));
    const Ended outcome = TrainWithHooks(scratch.path(), config, {{"two", greedy}});
    SetCpuBudget(0);
    EXPECT_EQ(outcome.code, ExitCode::kDoesNotFit);
    EXPECT_TRUE(
        Says(outcome.error, {"step ", "asked for 1 GiB", "in use", "Task two does not fit", "the peak was",
                             "It was tried: one fits with tasks.two.rows=1", "is saved"}))
        << "what overflows are its rows, in however small micro-batches";
    EXPECT_EQ(outcome.error.find("micro_rows"), std::string::npos) << outcome.error;
    EXPECT_EQ(ListCheckpoints(scratch.path()).at(0).step, outcome.step);
  }
}

TEST(TaskErrors, DropGoesOnWithoutTheTaskAndSaysSo) {
  for (const int draws_per_step : {1, 3}) {
    const ScratchDirectory scratch;
    RunConfig config = TinyConfig(20);
    config.on_task_error = "drop";
    config.draws_per_step = draws_per_step;
    const Ended outcome = TrainWithHooks(scratch.path(), config, {{"two", FailSecondDraw()}});
    EXPECT_EQ(outcome.code, ExitCode::kSomethingDropped) << outcome.error;
    EXPECT_EQ(outcome.step, 20);
    ASSERT_EQ(outcome.dropped.size(), 1u);
    EXPECT_EQ(outcome.dropped.begin()->first, "two");
    EXPECT_TRUE(Says(outcome.words, {"dropped: two", "the camera is gone"}));
  }
}

TEST(TaskErrors, ADroppedTaskStaysDroppedAfterAResume) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(20);
  config.on_task_error = "drop";
  TrainWithHooks(scratch.path(), config, {{"two", FailSecondDraw()}});
  const auto expected = EndState(scratch.path());
  for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) {
    if (entry.step > 15) fs::remove_all(entry.path);
  }
  SilentConsole console;
  const auto found = FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console);
  const auto tiny = MakeTinyRun(config);
  TestTrainer trainer(*tiny, scratch.path(), *console, found);
  EXPECT_EQ(trainer.Train(), ExitCode::kSomethingDropped);
  EXPECT_EQ(EndState(scratch.path()), expected);
}

TEST(TaskErrors, TheLastTaskThatFailsEndsTheRun) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(20);
  config.on_task_error = "drop";
  const RowHook fail = [](const RowRange&) { throw std::runtime_error("no"); };
  const Ended outcome =
      TrainWithHooks(scratch.path(), config, {{"one", fail}, {"two", fail}, {"three", fail}});
  EXPECT_EQ(outcome.code, ExitCode::kFailed);
  EXPECT_TRUE(Says(outcome.error, {"no task is left"}));
}

TEST(TaskErrors, WeightsThatAreNotFiniteAreNeverSaved) {
  const ScratchDirectory scratch;
  SilentConsole console;
  const auto tiny = MakeTinyRun(TinyConfig(20));
  TestTrainer trainer(*tiny, scratch.path(), *console);
  TrainingState state = trainer.State();
  at::Tensor weight = state.weights[2].tensor.detach();
  weight.view(-1)[3] = NAN;
  EXPECT_TRUE(Says(MessageOf([&] {
                     SaveCheckpoint(scratch.path(), state,
                                    {.step = 1, .logs = {}, .evaluated = {}, .config_hash = ""});
                   }),
                   {state.weights[2].name, "not finite"}));
  EXPECT_TRUE(ListCheckpoints(scratch.path()).empty());
}

// Gives a task of two passes this code; its rows stay.
template <typename Run>
void RunInstead(FixtureTask& task, Run run) {
  Script script{.sample = [](const RowRange& rows) { return QaRows(rows, 2); }, .run = std::move(run)};
  task.task = std::make_unique<LoadedTask>(*task.info, task.info->variants.front(), "fixture",
                                           std::make_unique<ScoredTask>(std::move(script), "q0"));
}

// The step is done again after a resume, and must draw what it drew.
TEST(TaskErrors, AGradientThatIsNotFiniteLeavesTheGeneratorsAsTheyWere) {
  const auto generators_after = [](std::int64_t steps, bool explode) {
    const ScratchDirectory scratch;
    SilentConsole console;
    RunConfig config = TinyConfig(steps);
    config.checkpoint.every = 0;
    config.data.threads = 0;
    const auto tiny = MakeTinyRun(config);
    FixtureTask& two = tiny->tasks().at("two");
    RunInstead(two, [explode, draws = AfterTheCheck()](const std::string& pass, PassContext& context) {
      Sums sums = QaPass(pass, context);
      at::Tensor size = sums.at("size");
      if (draws(context)) size = size + at::rand({}) * 0;
      const bool now = explode && context.batch().rows().begin >= 3;
      // The slope of the root is infinite at 0.
      sums.at("size") = now ? size + at::sqrt(size - size.detach()) : size;
      return sums;
    });
    TestTrainer trainer(*tiny, scratch.path(), *console);
    const Ended ended = TrainToTheEnd(trainer, console);
    EXPECT_EQ(ended.code, explode ? ExitCode::kFailed : ExitCode::kDone);
    if (explode) {
      EXPECT_TRUE(Says(ended.error, {"the gradient of", "no checkpoint from before", "medley train",
                                     " optimizer.learning_rate=0.001 "}));
    }
    const fs::path checkpoint = ListCheckpoints(scratch.path()).at(0).path;
    const auto state = nlohmann::json::parse(ReadText(checkpoint / "state.json"));
    return std::make_pair(ended.step, state.at("generators"));
  };
  const auto [step, generators] = generators_after(20, true);
  ASSERT_GT(step, 0);
  EXPECT_EQ(generators, generators_after(step, false).second);
  EXPECT_NE(generators, generators_after(step + 1, false).second) << "so it would have been noticed";
}

TEST(TaskErrors, ALossThatIsNotFiniteNamesTaskAndTermAndUpdatesNothing) {
  const ScratchDirectory scratch;
  SilentConsole console;
  const auto tiny = MakeTinyRun(TinyConfig(20));
  FixtureTask& two = tiny->tasks().at("two");
  RunInstead(two, [](const std::string& pass, PassContext& context) {
    Sums sums = QaPass(pass, context);
    if (context.batch().rows().begin >= 3) sums.at("size") = sums.at("size") * NAN;
    return sums;
  });
  TestTrainer trainer(*tiny, scratch.path(), *console);
  EXPECT_TRUE(Says(MessageOf([&] { trainer.Train(); }), {"step ", "task 'two'", "'size'", "finite"}));
  for (const Parameter& parameter : tiny->run.model->parameters()) {
    EXPECT_TRUE(at::isfinite(parameter.tensor).all().item<bool>());
  }
  EXPECT_EQ(ListCheckpoints(scratch.path()).at(0).step, trainer.step());
}

// Only its evaluations' loss is NaN: they come in more rows than any draw.
void SpoilEvaluationsOf(FixtureTask& task) {
  RunInstead(task, [](const std::string& pass, PassContext& context) {
    Sums sums = QaPass(pass, context);
    if (context.batch().size() > 5) sums.at("size") = sums.at("size") * NAN;
    return sums;
  });
}

TEST(TaskErrors, AHeldOutLossThatIsNotFiniteIsSaidAndTheRunStaysResumable) {
  const ScratchDirectory scratch;
  const RunConfig config = TinyConfig(20);
  std::map<std::string, std::string> expected;
  for (const bool resumed : {false, true}) {
    SilentConsole console;
    const auto tiny = MakeTinyRun(config);
    SpoilEvaluationsOf(tiny->tasks().at("two"));
    const auto found = FindCheckpoint(scratch.path(), OnDamage::kSetAside, *console);
    ASSERT_EQ(found.has_value(), resumed) << console.words();
    TestTrainer trainer(*tiny, scratch.path(), *console, found);
    ASSERT_EQ(TrainToTheEnd(trainer, console).error, "");
    EXPECT_TRUE(Says(console.words(), {"the held-out loss of two is not finite"}));
    if (resumed) break;
    expected = EndState(scratch.path());
    for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) {
      if (entry.step > 12) fs::remove_all(entry.path);
    }
  }
  EXPECT_EQ(EndState(scratch.path()), expected);
}

TEST(TaskErrors, ATaskThatFailsInWordsThatAreNotUtf8IsDroppedAndTheRunIsSaved) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(20);
  config.on_task_error = "drop";
  const RowHook fail = [](const RowRange& rows) {
    if (IsLaterDraw(rows)) throw std::runtime_error("caf\xe9");
  };
  const Ended outcome = TrainWithHooks(scratch.path(), config, {{"two", fail}});
  EXPECT_EQ(outcome.code, ExitCode::kSomethingDropped) << outcome.error;
  EXPECT_EQ(outcome.words.find("was not saved"), std::string::npos) << outcome.words;
  EXPECT_TRUE(Says(outcome.dropped.at("two"), {"caf\\xe9"}));
  EXPECT_EQ(ListCheckpoints(scratch.path()).at(0).step, 20);
}

TEST(TaskErrors, AGradientThatIsNotFiniteNamesTheTasksOfTheStep) {
  const ScratchDirectory scratch;
  SilentConsole console;
  const auto tiny = MakeTinyRun(TinyConfig(20));
  FixtureTask& two = tiny->tasks().at("two");
  RunInstead(two, [](const std::string& pass, PassContext& context) {
    Sums sums = QaPass(pass, context);
    const at::Tensor size = sums.at("size");
    // 0, with a slope that is infinity less infinity
    if (context.batch().rows().begin >= 3) sums.at("size") = size + (size - size).sqrt();
    return sums;
  });
  TestTrainer trainer(*tiny, scratch.path(), *console);
  EXPECT_TRUE(
      Says(MessageOf([&] { trainer.Train(); }), {"step ", ", whose draws are of two: ", "not finite"}));
}

// Losses by step, of runs that were gone on with; the checkpoint of the step itself is never one.
TEST(TaskErrors, ASoundCheckpointIsOneBeforeTheLossesRose) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(12);
  config.checkpoint = {.every = 3, .keep = 9};
  config.optimizer.decay_fraction = 0;  // no other is saved
  ASSERT_EQ(TrainWithHooks(scratch.path(), config, {}).error, "");
  const auto sound = [&](const std::vector<std::vector<double>>& by_task) {
    std::string lines;
    for (std::size_t step = 0; step < 12; ++step) {
      nlohmann::json terms;
      for (std::size_t task = 0; task < by_task.size(); ++task)
        terms["t" + std::to_string(task)]["a"]["weighted"] = by_task[task][step];
      lines += nlohmann::json({{"step", step + 1}, {"terms", terms}}).dump() + "\n";
    }
    WriteText(scratch / "metrics.jsonl", lines);
    return SoundCheckpoint(scratch.path(), 12);
  };
  const std::vector<double> falls = {6, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1};
  EXPECT_EQ(sound({falls}), 9);
  EXPECT_EQ(sound({{6, 5, 4, 4, 3, 3, 2, 2, 1, 8, 9, 99}}), 6) << "two draws rose";
  EXPECT_EQ(sound({falls, {6, 5, 4, 30, 40, 50, 60, 70, 80, 90, 99, 99}}), std::nullopt) << "one task did";
  EXPECT_EQ(sound({{6, 5, 4, 4, 30, 40, 50, 60, 70, 80, 90, 99}}), 3);
  EXPECT_EQ(sound({{6, 600, 6e4, 6e6, 6e8, 6e9, 6e9, 6e9, 6e9, 6e9, 6e9, 6e9}}), std::nullopt);
  EXPECT_EQ(sound({{6, .01, .2, .01, .3, .02, .2, .1, .02, .3, .2, .4}}), 9) << "noise of what is learned";
  EXPECT_EQ(sound({{11, 9, 7, 5, 4, 3, 3, 3, 3, 11, 10, 11}}), 6) << "no higher than it began";
  fs::resize_file(scratch / "step-00000009/optim.safetensors", 100);
  EXPECT_EQ(sound({falls}), 6) << "a damaged one is none";
}

// A run of either type gives the other its masters.
TEST(InitFrom, GoesFromFloatToHalfAndBack) {
  const ScratchDirectory scratch;
  SilentConsole console;
  const auto trained = [&](const char* name, const char* dtype, const char* from) {
    RunConfig config = TinyConfig(3);
    config.dtype = dtype;
    fs::create_directory(scratch / name);
    const auto tiny = MakeTinyRun(config);
    if (*from != '\0') InitializeFrom({.run = scratch / from}, tiny->run.optimizer->weights(), *console);
    std::map<std::string, at::Tensor> begun;
    for (const Parameter& parameter : tiny->run.model->parameters())
      begun[parameter.name] = parameter.tensor.detach().to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    TestTrainer trainer(*tiny, scratch / name, *console);
    EXPECT_EQ(trainer.Train(), ExitCode::kDone);
    return begun;
  };
  const auto saved = [&](const char* name) {
    return ReadSafetensors(ListCheckpoints(scratch / name).at(0).path / "model.safetensors");
  };
  trained("float", "fp32", "");
  const auto of_float = saved("float");
  for (const auto& [name, value] : trained("half", "bf16", "float"))
    EXPECT_TRUE(at::equal(value, of_float.at(name).to(at::kBFloat16).to(at::kFloat))) << name;
  const auto of_half = saved("half");
  for (const auto& [name, value] : trained("again", "fp32", "half"))
    EXPECT_TRUE(at::equal(value, of_half.at(name))) << name;
}

TEST(InitFrom, TakesMatchingWeightsAndRefusesOthersByName) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "run");
  TrainWithHooks(scratch / "run", TinyConfig(4), {});
  SilentConsole console;
  FixtureModel model;
  model.To(at::kCPU, at::kFloat);
  const MasterWeights weights(model.parameters(), {});
  const at::Tensor before = model.parameters()[0].tensor.clone();
  EXPECT_TRUE(Says(InitializeFrom({.run = scratch / "run", .match = {"head.*", "mid.*"}}, weights, *console),
                   {"took 4 of 10 parameters"}));
  EXPECT_TRUE(model.parameters()[0].tensor.equal(before));
  EXPECT_TRUE(Says(
      MessageOf([&] { InitializeFrom({.run = scratch / "run", .match = {"nose.*"}}, weights, *console); }),
      {"nose.*", "matches no parameter"}));
  std::vector<Parameter> fewer = model.parameters();
  const std::string lacking = fewer.back().name;
  fewer.pop_back();
  const MasterWeights smaller(fewer, {});
  EXPECT_TRUE(
      Says(MessageOf([&] { InitializeFrom({.run = scratch / "run", .match = {"*"}}, smaller, *console); }),
           {"has what this run's model lacks: " + lacking + ". ", "init_from.match"}));
  EXPECT_TRUE(
      Says(InitializeFrom({.run = scratch / "run", .match = {"mid.*"}}, smaller, *console), {"took "}));
  FixtureModel of_wide;  // float64
  const MasterWeights wide(of_wide.parameters(), {});
  EXPECT_TRUE(
      Says(MessageOf([&] { InitializeFrom({.run = scratch / "run", .match = {"*"}}, wide, *console); }),
           {"encoder.weight", "Float [12, 7]", "Double [12, 7]"}));
  EXPECT_TRUE(
      Says(MessageOf([&] { InitializeFrom({.run = scratch / "none", .match = {"*"}}, weights, *console); }),
           {"none", "is not a directory"}));
}

TEST(Evaluation, GivesMeanIntervalChanceAndTrivialAnswersAndASheet) {
  const auto tiny = MakeTinyRun(TinyConfig(1));
  const EvalSetting setting{*tiny->run.model, at::kCPU, 3, 70};
  Scores scores;
  scores["two"] = ScoreTask(tiny->task("two"), tiny->plan().Of("two"), setting);
  const nlohmann::ordered_json json = ScoresJson(scores).at("tasks").at("two");
  EXPECT_EQ(json.at("metric"), "brightness");
  EXPECT_EQ(json.at("better"), "lower");
  EXPECT_EQ(json.at("rows"), 70);
  EXPECT_TRUE(json.at("chance").is_null());
  EXPECT_EQ(json.at("trivial").at("half"), 0.5);
  EXPECT_NEAR(json.at("value").get<double>(), 0.5, 0.05);
  EXPECT_LT(json.at("low").get<double>(), json.at("value").get<double>());
  EXPECT_EQ(scores["two"].examples.size(), 8u);
  EXPECT_EQ(SheetFiles(scores).begin()->first, "sheet-two.png");
  EXPECT_TRUE(Says(ScoresTable(ScoresAfter(1, scores)), {"two", "brightness", "half 0.500", "lower"}));
}

TEST(Evaluation, AnIntervalIsThatOfWhatTheSpecSaysOfTheScore) {
  const auto tiny = MakeTinyRun(TinyConfig(1));
  tiny->tasks().at("two").info->score = {.name = "share", .higher_is_better = true, .chance = 0.5};
  const auto score_rows = [&](std::uint64_t seed, std::int64_t rows) {
    return ScoreTask(tiny->task("two"), tiny->plan().Of("two"), {*tiny->run.model, at::kCPU, seed, rows});
  };
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const TaskScore score = score_rows(seed, 2);
    EXPECT_GE(score.score.low, 0);
    EXPECT_LE(score.score.high, 1);
    EXPECT_EQ(score.items, 2);
  }
  Scores one;
  one["two"] = score_rows(0, 1);
  EXPECT_TRUE(ScoresJson(one).at("tasks").at("two").at("low").dump() == "null");
}

// The loss on held-out rows is what the executor gives for the same rows in one draw.
TEST(Evaluation, HeldOutLossIsTheTrainingLossOfTheseRows) {
  const auto tiny = MakeTinyRun(TinyConfig(1));
  LoadedTask& task = tiny->task("three");
  const TaskScore score = ScoreTask(task, tiny->plan().Of("three"), {*tiny->run.model, at::kCPU, 3, 70});
  const Batch batch = task.Sample({EvalSeed(3, "three"), 0, 70});
  const StepLosses losses =
      tiny->run.executor->Run({{.task = &task, .batch = &batch, .execution = &tiny->plan().Of("three")}});
  EXPECT_NEAR(score.loss, WeightedLoss(losses), 1e-5 * score.loss);
}

}  // namespace
}  // namespace medley::testing_fixture
