#include <medley/base/interrupt.h>
#include <medley/base/stop_signal.h>
#include <medley/checkpoint/load_weights.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/weights/safetensors.h>

#include <csignal>
#include <set>
#include <tuple>

#include "tests/checkpoint/forged_checkpoint.h"
#include "tests/step/renamed_model.h"
#include "tests/sweep.h"
#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 12;

ExitCode TrainOn(const fs::path& directory, TinyRun& tiny) {
  SilentConsole console;
  const auto found = FindCheckpoint(directory, OnDamage::kSetAside, *console);
  TestTrainer trainer(tiny, directory, *console, found);
  return trainer.Train();
}

// Trains from what lies in the directory to the end.
ExitCode TrainOn(const fs::path& directory, const RunConfig& config,
                 std::map<std::string, RowHook> hooks = {}) {
  return TrainOn(directory, *MakeTinyRun(config, std::move(hooks)));
}

// A copy of a run that was killed after step k: no later checkpoint, but logs that ran ahead.
void CopyUpTo(const fs::path& from, const fs::path& to, std::int64_t k) {
  fs::copy(from, to, fs::copy_options::recursive);
  for (const CheckpointEntry& entry : ListCheckpoints(to)) {
    if (entry.step > k) fs::remove_all(entry.path);
  }
}

// Every rule and buffer that an optimizer has. The trend moves weights from the fourth step to the ninth.
RunConfig WithAllThatIsKept(std::int64_t steps) {
  RunConfig config = TinyConfig(steps);
  config.optimizer.average = 0.9;
  config.optimizer.trend = {.beta = 0.5, .gamma = 0.8};
  config.optimizer.groups = {{.match = "mid.weight", .rule = RuleName::kMuon}};
  return config;
}

class Resume : public ::testing::TestWithParam<std::tuple<int, const char*, bool>> {};

// Its model draws from the default generator in every forward. Joint: other modes must give the same twice.
std::unique_ptr<TinyRun> MakeNoisyRun(const RunConfig& config) {
  auto tiny = MakeTinyRun(config);
  for (auto& [task, execution] : tiny->executions) execution.way.mode = Mode::kJoint;
  dynamic_cast<FixtureModel&>(*tiny->run.model).noise = 0.01;
  for (auto& [name, task] : tiny->tasks()) tiny->run.contract->Waive(*task.task);  // it would refuse
  return tiny;
}

TEST_P(Resume, AtEveryStepGivesTheUninterruptedRunBitForBit) {
  RunConfig config = std::get<2>(GetParam()) ? WithAllThatIsKept(kSteps) : TinyConfig(kSteps);
  config.draws_per_step = std::get<0>(GetParam());
  config.dtype = std::get<1>(GetParam());
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "whole");
  ASSERT_EQ(TrainOn(scratch / "whole", *MakeNoisyRun(config)), ExitCode::kDone);
  const auto expected = EndState(scratch / "whole");
  EXPECT_EQ(expected.at("step"), "step-00000012");
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  for (const std::int64_t k : test::SliceOfSteps(name, 1, kSteps, 4)) {
    const fs::path part = scratch / ("part" + std::to_string(k));
    CopyUpTo(scratch / "whole", part, k);
    ASSERT_EQ(TrainOn(part, *MakeNoisyRun(config)), ExitCode::kDone);
    EXPECT_EQ(EndState(part), expected) << "resumed after step " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(DrawsPerStep, Resume,
                         ::testing::Combine(::testing::Values(1, 2, 3), ::testing::Values("fp32", "bf16"),
                                            ::testing::Bool()));

INSTANTIATE_TEST_SUITE_P(OfFp16, Resume,
                         ::testing::Combine(::testing::Values(2), ::testing::Values("fp16"),
                                            ::testing::Bool()));

std::vector<nlohmann::json> LinesOf(const fs::path& file) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(ReadText(file));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// Of a loss so large that its gradient, times the first scale, is more than fp16 holds.
TEST(LossScales, AStepWhoseGradientOverflowsRunsAgainWithTheSameRowsAndIsCountedOnce) {
  const ScratchDirectory scratch;
  std::map<std::string, std::vector<nlohmann::json>> metrics;
  for (const std::string dtype : {"fp32", "fp16"}) {
    RunConfig config = TinyConfig(kSteps);
    config.dtype = dtype;
    config.optimizer.clip_norm = 1;
    fs::create_directory(scratch / dtype);
    const auto tiny = MakeTinyRun(config);
    for (auto& [name, task] : tiny->tasks()) {
      for (const TermInfo& term : task.task->variant().terms)
        tiny->execution(name).term_weights[term.name] = 300 * term.weight;
    }
    ASSERT_EQ(TrainOn(scratch / dtype, *tiny), ExitCode::kDone);
    metrics[dtype] = LinesOf(scratch / dtype / "metrics.jsonl");
  }
  const std::vector<nlohmann::json> timing = LinesOf(scratch / "fp16" / "timing.jsonl");
  std::int64_t repeats = 0;
  for (const nlohmann::json& line : timing)
    if (line.contains("loss_scale")) repeats += line.at("loss_scale").at("repeats").get<std::int64_t>();
  EXPECT_GT(repeats, 0);
  EXPECT_EQ(timing.back().at("loss_scale").at("scale").get<double>(), LossScale::kFirst / std::exp2(repeats));
  ASSERT_EQ(metrics["fp16"].size(), metrics["fp32"].size());
  for (std::size_t i = 0; i < metrics["fp32"].size(); ++i) {
    const nlohmann::json &half = metrics["fp16"][i], &whole = metrics["fp32"][i];
    EXPECT_EQ(half.at("draws"), whole.at("draws")) << "step " << i + 1;
    EXPECT_NEAR(half.at("grad_norm").get<double>(), whole.at("grad_norm").get<double>(),
                0.02 * whole.at("grad_norm").get<double>());
  }
}

// Overflows at the first scale, so early that the run could have begun at a lower one.
std::unique_ptr<TinyRun> MakeOverflowingRun(RunConfig config) {
  config.dtype = "fp16";
  config.optimizer.clip_norm = 1;
  auto tiny = MakeNoisyRun(config);
  for (auto& [name, task] : tiny->tasks()) {
    for (const TermInfo& term : task.task->variant().terms)
      tiny->execution(name).term_weights[term.name] = 3e4 * term.weight;
  }
  return tiny;
}

struct Scaled {
  double scale = 0;
  std::int64_t repeats = 0;
};
std::vector<Scaled> ScalesOf(const fs::path& run) {
  std::vector<Scaled> scales;
  for (const nlohmann::json& line : LinesOf(run / "timing.jsonl")) {
    if (!line.contains("loss_scale")) continue;
    const nlohmann::json& scale = line.at("loss_scale");
    scales.push_back({scale.at("scale").get<double>(), scale.at("repeats").get<std::int64_t>()});
  }
  return scales;
}

TEST(LossScales, ARunWhoseFirstTriesOverflowIsOneThatBeganAtTheLowerScaleBitForBit) {
  for (const int draws : {1, 3}) {
    const ScratchDirectory scratch;
    RunConfig config = draws == 1 ? TinyConfig(kSteps) : WithAllThatIsKept(kSteps);
    config.draws_per_step = draws;
    if (draws == 3) config.optimizer.moments = MomentsKind::k8Bit;
    fs::create_directory(scratch / "high");
    ASSERT_EQ(TrainOn(scratch / "high", *MakeOverflowingRun(config)), ExitCode::kDone);
    const std::vector<Scaled> high = ScalesOf(scratch / "high");
    ASSERT_GT(high.at(0).repeats, 0) << draws;

    fs::create_directory(scratch / "low");
    const auto tiny = MakeOverflowingRun(config);
    SilentConsole console;
    TestTrainer trainer(*tiny, scratch / "low", *console);
    trainer.BeginAtLossScale(high.at(0).scale);
    ASSERT_EQ(trainer.Train(), ExitCode::kDone);
    EXPECT_EQ(ScalesOf(scratch / "low").at(0).repeats, 0);
    EXPECT_EQ(EndState(scratch / "low"), EndState(scratch / "high")) << draws;
  }
}

TEST(LossScales, AnInterruptBetweenTwoTriesCostsTheWholeStep) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(kSteps);
  config.checkpoint.every = 0;
  fs::create_directory(scratch / "whole");
  ASSERT_EQ(TrainOn(scratch / "whole", *MakeOverflowingRun(config)), ExitCode::kDone);
  ASSERT_GE(ScalesOf(scratch / "whole").at(0).repeats, 2);

  fs::create_directory(scratch / "part");
  const auto tiny = MakeOverflowingRun(config);
  int overflows = 0;
  tiny->run.model->parameters().front().tensor.register_hook([&](const at::Tensor& gradient) {
    if (!gradient.isfinite().all().item<bool>() && ++overflows == 2) RequestInterrupt();
  });
  EXPECT_EQ(TrainOn(scratch / "part", *tiny), ExitCode::kInterrupted);
  ForgetInterrupt();
  const auto saved = ReadSection(ListCheckpoints(scratch / "part").at(0).path, "loss_scale");
  EXPECT_EQ(saved.at("scale").get<double>(), LossScale::kFirst) << saved;
  EXPECT_EQ(TrainOn(scratch / "part", *MakeOverflowingRun(config)), ExitCode::kDone);
  EXPECT_EQ(EndState(scratch / "part"), EndState(scratch / "whole"));
  EXPECT_EQ(ScalesOf(scratch / "part").at(0).repeats, ScalesOf(scratch / "whole").at(0).repeats);
}

std::map<std::string, at::Tensor> WeightsIn(const fs::path& run) {
  return ReadSafetensors(ListCheckpoints(run).at(0).path / "model.safetensors");
}

// The evaluations of such a run are of the average: they are another run's where it is forgotten, and the
// weights are not. A checkpoint has both.
TEST(ResumeChecks, AnAverageIsScoredAndNeverSavedAsTheWeights) {
  const ScratchDirectory scratch;
  std::map<std::string, std::map<std::string, std::string>> ends;
  for (const std::string name : {"averaged", "plain", "forgotten"}) {
    RunConfig config = TinyConfig(kSteps);
    config.eval.every = 4;
    if (name != "plain") config.optimizer.average = 0.9;
    fs::create_directory(scratch / name);
    const auto tiny = MakeTinyRun(config);
    SilentConsole console;
    TestTrainer trainer(*tiny, scratch / name, *console);
    EXPECT_EQ(trainer.Train(name == "forgotten" ? 3 : kSteps), ExitCode::kDone);
    for (const Parameter& state : tiny->run.optimizer->State()) {
      if (name == "forgotten" && state.name.ends_with(".average")) at::Tensor(state.tensor).mul_(0.5);
    }
    EXPECT_EQ(trainer.Train(), ExitCode::kDone);
    ends[name] = EndState(scratch / name);
  }
  EXPECT_EQ(ends["averaged"].at("losses.csv"), ends["plain"].at("losses.csv"));
  EXPECT_EQ(ends["averaged"].at("model.safetensors"), ends["plain"].at("model.safetensors"));
  EXPECT_EQ(ends["averaged"].at("model.safetensors"), ends["forgotten"].at("model.safetensors"));
  EXPECT_NE(ends["averaged"].at("metrics.jsonl"), ends["plain"].at("metrics.jsonl"));
  EXPECT_NE(ends["averaged"].at("metrics.jsonl"), ends["forgotten"].at("metrics.jsonl"));

  const fs::path checkpoint = ListCheckpoints(scratch / "averaged").at(0).path;
  const auto weights = WeightsIn(scratch / "averaged"),
             state = ReadSafetensors(checkpoint / "optim.safetensors");
  for (const auto kind : {SavedWeights::kTrained, SavedWeights::kAveraged}) {
    const bool average = kind == SavedWeights::kAveraged;
    FixtureModel model;
    model.To(at::kCPU, at::kFloat);
    EXPECT_EQ(LoadWeights(checkpoint, model.parameters(), {"*"}, {}, kind).averaged, average);
    for (const Parameter& own : model.parameters())
      EXPECT_TRUE(at::equal(own.tensor, average ? state.at(own.name + ".average") : weights.at(own.name)))
          << own.name;
    EXPECT_EQ(at::equal(model.parameters()[0].tensor, weights.at(model.parameters()[0].name)), !average);
  }
  FixtureModel model;
  model.To(at::kCPU, at::kFloat);
  EXPECT_FALSE(LoadWeights(ListCheckpoints(scratch / "plain").at(0).path, model.parameters(), {"*"}, {},
                           SavedWeights::kAveraged)
                   .averaged);
}

TEST(ResumeChecks, ARunMayGoOnInAnotherTypeFromTheSameMasters) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(6);
  config.dtype = "bf16";
  fs::create_directory(scratch / "half");
  ASSERT_EQ(TrainOn(scratch / "half", config), ExitCode::kDone);
  const auto masters = WeightsIn(scratch / "half");
  for (const auto& [name, master] : masters) {
    EXPECT_EQ(master.scalar_type(), at::kFloat) << name;
    EXPECT_FALSE(at::equal(master, master.to(at::kBFloat16).to(at::kFloat))) << name;
  }
  config.dtype = "fp32";
  const auto tiny = MakeTinyRun(config);
  SilentConsole console;
  const TestTrainer trainer(*tiny, scratch / "half", *console,
                            FindCheckpoint(scratch / "half", OnDamage::kSetAside, *console));
  for (const Parameter& parameter : tiny->run.model->parameters())
    EXPECT_TRUE(at::equal(parameter.tensor, masters.at(parameter.name))) << parameter.name;
}

// fp16 has a loss scale in its checkpoints, which other types have no use for.
TEST(ResumeChecks, ARunGoesFromFp16ToOtherTypesAndBack) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "run");
  std::int64_t steps = 0;
  for (const char* dtype : {"fp16", "fp32", "fp16", "bf16", "fp16"}) {
    RunConfig config = TinyConfig(steps += 2);
    config.dtype = dtype;
    EXPECT_EQ(TrainOn(scratch / "run", config), ExitCode::kDone) << dtype << " to step " << steps;
    const bool scales = LinesOf(scratch / "run" / "timing.jsonl").back().contains("loss_scale");
    EXPECT_EQ(scales, config.dtype == "fp16");
  }
  EXPECT_EQ(LinesOf(scratch / "run" / "metrics.jsonl").size(), 10U);
}

// Without the masters a resume would begin with rounded weights.
TEST(ResumeChecks, AHalfRunTakesUpMastersAndRoundsThem) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(6);
  config.dtype = "bf16";
  fs::create_directory(scratch / "half");
  ASSERT_EQ(TrainOn(scratch / "half", config), ExitCode::kDone);
  const auto masters = WeightsIn(scratch / "half");
  const auto tiny = MakeTinyRun(config);
  SilentConsole console;
  const TestTrainer trainer(*tiny, scratch / "half", *console,
                            FindCheckpoint(scratch / "half", OnDamage::kSetAside, *console));
  for (const Parameter& master : tiny->run.optimizer->weights().list())
    EXPECT_TRUE(at::equal(master.tensor, masters.at(master.name))) << master.name;
  for (const Parameter& parameter : tiny->run.model->parameters())
    EXPECT_TRUE(at::equal(parameter.tensor, masters.at(parameter.name).to(at::kBFloat16))) << parameter.name;
}

TEST(ResumeChecks, SavingAndProbingLeaveNoTraceInTheRun) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(kSteps);
  fs::create_directory(scratch / "often");
  fs::create_directory(scratch / "once");
  TrainOn(scratch / "often", config);
  config.checkpoint.every = 0;
  TrainOn(scratch / "once", config);
  EXPECT_EQ(ListCheckpoints(scratch / "once").size(), 2u) << "before its rate falls, and at its end";
  EXPECT_EQ(EndState(scratch / "often"), EndState(scratch / "once"));
}

TEST(ResumeChecks, ACheckpointWithFormerNamesGoesOnBitForBitUnderTheNewOnes) {
  const ScratchDirectory scratch;
  const RunConfig config = TinyConfig(kSteps);
  fs::create_directory(scratch / "whole");
  TrainOn(scratch / "whole", config);
  CopyUpTo(scratch / "whole", scratch / "part", 6);
  const auto tiny = MakeTinyRun(config);
  tiny->run.model = std::make_unique<RenamedModel>();
  tiny->run.contract = std::make_unique<ContractCheck>(*tiny->run.model, at::kCPU);
  tiny->run.executor = std::make_unique<StepExecutor>(*tiny->run.model, at::kCPU, tiny->run.contract.get());
  tiny->run.optimizer = std::make_unique<Optimizer>(*tiny->run.model, config.optimizer);
  EXPECT_EQ(TrainOn(scratch / "part", *tiny), ExitCode::kDone);
  EXPECT_EQ(ReadText(scratch / "part" / "metrics.jsonl"), ReadText(scratch / "whole" / "metrics.jsonl"));
  for (const char* file : {"model.safetensors", "optim.safetensors"}) {
    const auto saved = [&](const char* run) {
      return ReadSafetensors(ListCheckpoints(scratch / run).at(0).path / file);
    };
    const auto expected = saved("whole"), found = saved("part");
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected) EXPECT_TRUE(found.at("model." + name).equal(tensor)) << name;
  }
}

// An evaluation of 0 rows at once went on for ever.
TEST(ResumeChecks, AForgedNumberInTheStateIsRefusedInWords) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "run");
  ASSERT_EQ(TrainOn(scratch / "run", TinyConfig(6)), ExitCode::kDone);
  const nlohmann::ordered_json cut = {
      {"planned", 0}, {"micro_rows", -1}, {"fitted", 0}, {"patience", 32}, {"grew", false}};
  const std::vector<std::tuple<std::string, nlohmann::ordered_json, std::string>> cases = {
      {"/progress/state/eval_rows_at_once/one", 0, "eval_rows_at_once of one is 0"},
      {"/progress/state/eval_rows_at_once/one", 1e300, "eval_rows_at_once of one is 1e+300"},
      {"/progress/state/step", -1, "step is -1"},
      {"/progress/state/overflows/one", cut, "micro_rows is -1"},
      {"/generators/state/cpu", "00", "a random generator is damaged"},
      {"/receipt/state/tasks/one", {{{"mode", 1}}}, "no receipt"}};
  for (const auto& [where, value, words] : cases) {
    fs::copy(scratch / "run", scratch / "forged", fs::copy_options::recursive);
    const fs::path newest = ListCheckpoints(scratch / "forged").at(0).path;
    ForgeState(newest, [&, &where = where, &value = value](auto& state) {
      state[nlohmann::ordered_json::json_pointer(where)] = value;
    });
    try {
      TrainOn(scratch / "forged", TinyConfig(12));
      ADD_FAILURE() << where;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
    fs::remove_all(scratch / "forged");
  }
}

// Without these the equalities above could hold because nothing is restored or nothing matters.
struct Damage {
  const char* name;
  std::function<void(TinyRun&)> Do;
  RunConfig (*config)(std::int64_t steps) = TinyConfig;
};
void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }

class ResumeWith : public ::testing::TestWithParam<Damage> {};

// From step 6 on.
std::map<std::string, std::string> EndAfter(const fs::path& part, const RunConfig& config,
                                            const std::function<void(TinyRun&)>& damage) {
  SilentConsole console;
  const auto found = FindCheckpoint(part, OnDamage::kSetAside, *console);
  const auto tiny = MakeNoisyRun(config);
  TestTrainer trainer(*tiny, part, *console, found);
  EXPECT_EQ(trainer.step(), 6);
  damage(*tiny);
  EXPECT_EQ(trainer.Train(), ExitCode::kDone);
  return EndState(part);
}

TEST_P(ResumeWith, OnePartNotRestoredIsAnotherRun) {
  const ScratchDirectory scratch;
  const RunConfig config = GetParam().config(kSteps);
  fs::create_directory(scratch / "whole");
  {
    SilentConsole console;
    const auto tiny = MakeNoisyRun(config);
    TestTrainer(*tiny, scratch / "whole", *console).Train();
  }
  const auto expected = EndState(scratch / "whole");
  CopyUpTo(scratch / "whole", scratch / "same", 6);
  CopyUpTo(scratch / "whole", scratch / "other", 6);
  EXPECT_EQ(EndAfter(scratch / "same", config, [](TinyRun&) {}), expected);
  const auto other = EndAfter(scratch / "other", config, GetParam().Do);
  EXPECT_NE(other.at("model.safetensors"), expected.at("model.safetensors"));
  EXPECT_NE(other.at("metrics.jsonl"), expected.at("metrics.jsonl"));
}

void Forget(TinyRun& run, const std::string& suffix) {
  int forgotten = 0;
  for (const Parameter& state : run.run.optimizer->State()) {
    if (!state.name.ends_with(suffix)) continue;
    at::Tensor(state.tensor).zero_();
    ++forgotten;
  }
  EXPECT_GT(forgotten, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Parts, ResumeWith,
    ::testing::Values(Damage{"weights",
                             [](TinyRun& run) {
                               at::Tensor(run.run.model->parameters()[0].tensor).detach().mul_(1.001);
                             }},
                      Damage{"means", [](TinyRun& run) { Forget(run, ".exp_avg"); }},
                      Damage{"squares", [](TinyRun& run) { Forget(run, ".exp_avg_sq"); }},
                      Damage{"updates", [](TinyRun& run) { Forget(run, ".step"); }},
                      Damage{"momentum", [](TinyRun& run) { Forget(run, ".momentum"); }, WithAllThatIsKept},
                      Damage{"trend", [](TinyRun& run) { Forget(run, ".trend"); }, WithAllThatIsKept},
                      Damage{"mixer", [](TinyRun& run) { run.run.mixer->Commit(run.run.mixer->Peek(1)); }},
                      Damage{"generators", [](TinyRun&) { at::rand({1}); }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ResumeChecks, CtrlCInTheMiddleOfAStepGivesItUpAndSavesTheOneBefore) {
  const ScratchDirectory scratch;
  const RunConfig config = TinyConfig(kSteps);
  fs::create_directory(scratch / "whole");
  TrainOn(scratch / "whole", config);
  for (const int signal : {SIGINT, SIGTERM}) {
    const fs::path part = scratch / ("part" + std::to_string(signal));
    fs::create_directory(part);
    RunConfig sparse = config;
    sparse.checkpoint.every = 0;
    sparse.data.threads = 0;  // the signal comes at the step of the draw
    const RowHook interrupt = [&](const RowRange& rows) {
      if (rows.count == 3 && rows.begin == 3) std::raise(signal);  // the second draw
    };
    EXPECT_EQ(TrainOn(part, sparse, {{"two", interrupt}}), ExitCode::kInterrupted);
    const std::int64_t step = ListCheckpoints(part).at(0).step;
    EXPECT_GT(step, 1);
    EXPECT_LT(step, kSteps);
    EXPECT_EQ(TrainOn(part, sparse), ExitCode::kDone);
    EXPECT_EQ(EndState(part), EndState(scratch / "whole"));
  }
}

TEST(ResumeChecks, ASecondCtrlCLeavesUnsavedAndDoesNotCallItInterrupted) {
  const auto interrupt_twice = [] {
    const StopSignal stop;
    std::raise(SIGINT);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_twice(), ::testing::ExitedWithCode(1), "left at once: what is not saved is lost");
}

TEST(ResumeChecks, OnlyDamagedCheckpointsAreRefusedEachTimeAndNothingIsLost) {
  const ScratchDirectory scratch;
  const RunConfig config = TinyConfig(4);
  TrainOn(scratch.path(), config);
  for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) fs::remove(entry.path / "state.json");
  const auto contents = [&] {
    std::map<std::string, std::string> files;
    for (const auto& file : fs::recursive_directory_iterator(scratch.path()))
      files[file.path()] = file.is_regular_file() ? HashText(ReadText(file.path())) : "";
    return files;
  };
  const auto before = contents();
  const std::string refusal = MessageOf<InputError>([&] { TrainOn(scratch.path(), config); });
  EXPECT_TRUE(Says(refusal, {"is whole", "step-00000004", "step-00000001"}));
  EXPECT_EQ(MessageOf<InputError>([&] { TrainOn(scratch.path(), config); }), refusal);
  EXPECT_EQ(contents(), before);
}

Receipt ReceiptIn(const fs::path& run) {
  return Receipt::FromJson(nlohmann::ordered_json::parse(ReadText(run / kReceiptFile)));
}

struct Ran {
  std::int64_t draws = 0, rows = 0, tokens_run = 0, forwards = 0;
  bool operator==(const Ran&) const = default;
};

std::map<FormId, Ran> WhatRan(const Receipt& receipt) {
  std::map<FormId, Ran> ran;
  for (const auto& [form, epochs] : receipt.forms()) {
    for (const PlanEpoch& epoch : epochs) {
      Ran& sum = ran[form];
      sum = {sum.draws + epoch.draws, sum.rows + epoch.rows, sum.tokens_run + epoch.tokens_run,
             sum.forwards + epoch.forwards};
    }
  }
  return ran;
}

std::int64_t Draws(const Receipt& receipt) {
  std::int64_t draws = 0;
  for (const auto& [form, ran] : WhatRan(receipt)) draws += ran.draws;
  return draws;
}

TEST(ResumeChecks, TheReceiptGoesOnFromTheCheckpointWhateverTheFileSays) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(kSteps);
  config.checkpoint.every = 4;
  fs::create_directory(scratch / "whole");
  TrainOn(scratch / "whole", config);
  const auto expected = WhatRan(ReceiptIn(scratch / "whole"));
  EXPECT_EQ(Draws(ReceiptIn(scratch / "whole")), kSteps);
  fs::path part = scratch / "part";
  fs::copy(scratch / "whole", part, fs::copy_options::recursive);
  fs::remove(ListCheckpoints(part).at(0).path / "state.json");  // damaged
  {
    SilentConsole console;
    const auto found = FindCheckpoint(part, OnDamage::kSetAside, *console);
    const auto tiny = MakeTinyRun(config);
    TestTrainer trainer(*tiny, part, *console, found);
    EXPECT_EQ(Draws(ReceiptIn(part)), 8) << "the file, too, is back at the checkpoint";
    for (const auto& [form, ran] : WhatRan(ReceiptIn(part)))
      EXPECT_EQ(ran.rows, tiny->run.mixer->Shares().at(form.text()).rows);
    WriteText(part / kReceiptFile, "{");
  }
  EXPECT_EQ(TrainOn(part, config), ExitCode::kDone);
  EXPECT_EQ(WhatRan(ReceiptIn(part)), expected);
}

TEST(ResumeChecks, ACheckpointOfBeforeReceiptsWereSavedInItCanBeLoaded) {
  const auto tiny = MakeTinyRun(TinyConfig(1));
  const ScratchDirectory scratch;
  SilentConsole console;
  TestTrainer trainer(*tiny, scratch.path(), *console);
  const TrainingState state = trainer.State();
  nlohmann::ordered_json old = SaveSections(state.sections);
  EXPECT_EQ(old.erase("receipt"), 1u);
  EXPECT_NO_THROW(LoadSections(state.sections, old));
  old.erase("mixer");
  EXPECT_TRUE(Says(MessageOf([&] { LoadSections(state.sections, old); }), {"no state of \"mixer\""}));
}

// Whatever the reason why a step was saved: the file speaks of the same steps.
TEST(ResumeChecks, TheReceiptsFileIsThatOfTheNewestCheckpoint) {
  InstallCpuAllocator();
  for (const int every : {0, 3}) {
    const ScratchDirectory scratch;
    RunConfig config = TinyConfig(kSteps);
    config.checkpoint.every = every;
    config.data.threads = 0;
    std::set<std::int64_t> seen;
    const RowHook compare = [&](const RowRange& rows) {
      const auto checkpoints = ListCheckpoints(scratch.path());
      if (rows.count == 1 || checkpoints.empty()) return;
      seen.insert(checkpoints.at(0).step);
      EXPECT_EQ(Draws(ReceiptIn(scratch.path())), checkpoints.at(0).step);
    };
    const auto tiny = MakeTinyRun(config, {{"one", compare}, {"two", compare}, {"three", compare}});
    // The guard finds the budget nearly used up, and has the run saved early.
    const at::Tensor ballast = at::empty({8 << 20}, at::kByte);
    const MemoryReading memory = ReadMemory(at::kCPU);
    if (every == 0) tiny->run.budget.bytes = memory.now + memory.data + (1 << 19);
    SilentConsole console;
    TestTrainer trainer(*tiny, scratch.path(), *console);
    EXPECT_EQ(trainer.Train(), ExitCode::kDone) << console.words();
    EXPECT_FALSE(seen.empty()) << every;
    EXPECT_EQ(console.words().find("saving early") != std::string::npos, every == 0);
  }
}

TEST(ResumeChecks, AMissingLogOfTimesDoesNotStopAResume) {
  const ScratchDirectory scratch;
  TrainOn(scratch.path(), TinyConfig(4));
  fs::remove(scratch / "timing.jsonl");
  EXPECT_EQ(TrainOn(scratch.path(), TinyConfig(6)), ExitCode::kDone);
  EXPECT_EQ(ListCheckpoints(scratch.path()).at(0).step, 6);
  const std::string times = ReadText(scratch / "timing.jsonl");
  EXPECT_EQ(std::count(times.begin(), times.end(), '\n'), 2);
}

TEST(ResumeChecks, ARunWithoutACheckpointStartsAnewAndWithoutOldLines) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(3);
  TrainOn(scratch.path(), config);
  const auto expected = EndState(scratch.path());
  for (const CheckpointEntry& entry : ListCheckpoints(scratch.path())) fs::remove_all(entry.path);
  fs::remove(scratch / "LATEST");  // else they are missed
  TrainOn(scratch.path(), config);
  EXPECT_EQ(EndState(scratch.path()), expected);
}

TEST(ResumeChecks, MoreStepsGoOnFromTheEnd) {
  const ScratchDirectory scratch;
  TrainOn(scratch.path(), TinyConfig(4));
  EXPECT_EQ(TrainOn(scratch.path(), TinyConfig(6)), ExitCode::kDone);
  EXPECT_EQ(ListCheckpoints(scratch.path()).at(0).step, 6);
}

}  // namespace
}  // namespace medley::testing_fixture
