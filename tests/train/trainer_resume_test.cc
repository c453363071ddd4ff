#include <medley/train/stop_signal.h>

#include <csignal>

#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 12;

// Trains from what lies in the directory to the end.
ExitCode TrainOn(const fs::path& directory, const RunConfig& config,
                 std::map<std::string, RowHook> hooks = {}) {
  SilentConsole console;
  const auto found = FindCheckpoint(directory, OnDamage::kSetAside, *console);
  const auto tiny = MakeTinyRun(config, std::move(hooks));
  Trainer trainer(tiny->run, directory, *console, found);
  return trainer.Train();
}

// A copy of a run that was killed after step k: no later checkpoint, but logs that ran ahead.
void CopyUpTo(const fs::path& from, const fs::path& to, std::int64_t k) {
  fs::copy(from, to, fs::copy_options::recursive);
  for (const CheckpointEntry& entry : ListCheckpoints(to)) {
    if (entry.step > k) fs::remove_all(entry.path);
  }
}

class Resume : public testing::TestWithParam<int> {};

TEST_P(Resume, AtEveryStepGivesTheUninterruptedRunBitForBit) {
  RunConfig config = TinyConfig(kSteps);
  config.draws_per_step = GetParam();
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "whole");
  ASSERT_EQ(TrainOn(scratch / "whole", config), ExitCode::kDone);
  const auto expected = EndState(scratch / "whole");
  EXPECT_EQ(expected.at("step"), "step-00000012");
  for (std::int64_t k = 1; k < kSteps; ++k) {
    const fs::path part = scratch / ("part" + std::to_string(k));
    CopyUpTo(scratch / "whole", part, k);
    ASSERT_EQ(TrainOn(part, config), ExitCode::kDone);
    EXPECT_EQ(EndState(part), expected) << "resumed after step " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(DrawsPerStep, Resume, testing::Values(1, 2, 3));

TEST(ResumeChecks, SavingAndProbingLeaveNoTraceInTheRun) {
  const ScratchDirectory scratch;
  RunConfig config = TinyConfig(kSteps);
  fs::create_directory(scratch / "often");
  fs::create_directory(scratch / "once");
  TrainOn(scratch / "often", config);
  config.checkpoint.every = 0;
  TrainOn(scratch / "once", config);
  EXPECT_EQ(ListCheckpoints(scratch / "once").size(), 1u);
  EXPECT_EQ(EndState(scratch / "often"), EndState(scratch / "once"));
}

// Without this the equality above could hold because nothing is restored or nothing matters.
TEST(ResumeChecks, AColdOptimizerOrOtherWeightsWouldBeNoticed) {
  const ScratchDirectory scratch;
  const RunConfig config = TinyConfig(kSteps);
  fs::create_directory(scratch / "whole");
  TrainOn(scratch / "whole", config);
  const auto expected = EndState(scratch / "whole");

  SilentConsole console;
  fs::create_directory(scratch / "cold");
  const auto cold = MakeTinyRun(config);
  LoadWeights(scratch / "whole/step-00000006", cold->run.model->parameters());
  for (int step = 0; step < 6; ++step) cold->run.mixer->Commit(cold->run.mixer->Peek(1));
  Trainer trainer(cold->run, scratch / "cold", *console);
  trainer.Train();
  EXPECT_NE(EndState(scratch / "cold").at("model.safetensors"), expected.at("model.safetensors"));
}

TEST(ResumeChecks, CtrlCInTheMiddleOfAStepFinishesItAndSaves) {
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
    int samples = 0;
    const RowHook interrupt = [&](const RowRange& rows) {
      if (rows.count == 3 && ++samples == 2) std::raise(signal);
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
  EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(1), "once more leaves at once, unsaved");
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
