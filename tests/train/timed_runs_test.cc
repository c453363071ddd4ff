// Whole runs with hours, by a clock that the test turns.
#include <medley/session/longer_run.h>
#include <medley/train/run_hours.h>

#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;

RunConfig HoursConfig(double seconds, std::int64_t steps, double decay_fraction) {
  RunConfig config = TinyConfig(steps);
  config.hours = seconds / 3600;
  config.optimizer.decay_fraction = decay_fraction;
  return config;
}

// A whole run, by a clock that ticks at each look: one a step, and one at the start.
Ended TrainTimed(const fs::path& directory, const RunConfig& config, double tick,
                 const std::optional<FoundCheckpoint>& from = std::nullopt) {
  fs::create_directory(directory);
  SilentConsole console;
  const auto tiny = MakeTinyRun(config);
  TestTrainer trainer(*tiny, directory, *console, from, [tick, now = 0.0]() mutable { return now += tick; });
  return TrainToTheEnd(trainer, console);
}

std::string StateOf(const fs::path& run, int step) {
  return ReadText(run / ("step-000000" + std::to_string(step)) / "state.json");
}

TEST(RunWithHours, EndsAsTheShorterRunBitForBit) {
  const ScratchDirectory scratch;
  const Ended ended = TrainTimed(scratch / "early", HoursConfig(21, 100, 0.3), 1);
  EXPECT_EQ(ended.code, ExitCode::kDone) << ended.error;
  EXPECT_EQ(ended.step, 20);
  EXPECT_TRUE(Says(ended.words, {"step 14: the run's hours", "ends after step 20", "after step 20 of 100",
                                 "decayed early, in steps 14 to 20"}));
  EXPECT_EQ(ended.words.find("hours are over"), std::string::npos) << ended.words;
  TrainTimed(scratch / "short", HoursConfig(0, 20, 0.3), 1);
  auto early = EndState(scratch / "early"), expected = EndState(scratch / "short");
  early.erase("state.json");
  expected.erase("state.json");
  EXPECT_EQ(early, expected);
  EXPECT_EQ(StateOf(scratch / "early", 14).find("early_decay"), std::string::npos);
  EXPECT_NE(StateOf(scratch / "early", 15).find("early_decay"), std::string::npos);
}

TEST(RunWithHours, ThatIsFastEnoughIsTheRunWithoutThem) {
  const ScratchDirectory scratch;
  const Ended ended = TrainTimed(scratch / "with", HoursConfig(21, 20, 0.3), 0.99);
  EXPECT_EQ(ended.code, ExitCode::kDone);
  TrainTimed(scratch / "without", HoursConfig(0, 20, 0.3), 1);
  EXPECT_EQ(EndState(scratch / "with"), EndState(scratch / "without"));
  EXPECT_EQ(ended.words.find("hours"), std::string::npos) << ended.words;
}

TEST(RunWithHours, AResumeInTheDecayGoesOnInIt) {
  const ScratchDirectory scratch;
  const RunConfig config = HoursConfig(21, 100, 0.3);
  TrainTimed(scratch / "whole", config, 1);
  for (int step = 15; step <= 20; ++step) {
    const fs::path part = scratch / std::to_string(step);
    fs::copy(scratch / "whole", part, fs::copy_options::recursive);
    for (int later = step + 1; later <= 20; ++later)
      fs::remove_all(part / ("step-000000" + std::to_string(later)));
    SilentConsole console;
    const auto found = FindCheckpoint(part, OnDamage::kSetAside, *console);
    const Ended ended = TrainTimed(part, config, step % 2 == 0 ? 2 : 0.001, found);
    EXPECT_EQ(ended.code, ExitCode::kDone);
    EXPECT_TRUE(Says(ended.words, {step < 20 ? "the run's decay goes on" : "the run is done", "14 to 20"}));
    EXPECT_EQ(EndState(part), EndState(scratch / "whole")) << step;
  }
}

// The clock ticks three times as fast from some time in the decay on.
TEST(RunWithHours, AShortenedDecayIsWrittenDownAndResumed) {
  const ScratchDirectory scratch;
  const RunConfig config = HoursConfig(100, 1000, 0.5);
  const auto train = [&](const fs::path& directory, const std::optional<FoundCheckpoint>& from) {
    fs::create_directory(directory);
    SilentConsole console;
    const auto tiny = MakeTinyRun(config);
    const auto clock = [now = 0.0]() mutable { return now += now < 70 ? 1 : 3; };
    TestTrainer trainer(*tiny, directory, *console, from, clock);
    return TrainToTheEnd(trainer, console);
  };
  const Ended ended = train(scratch / "whole", std::nullopt);
  EXPECT_EQ(ended.code, ExitCode::kDone) << ended.error;
  EXPECT_LT(ended.step, 90) << "of about 100, had nothing become slower";
  EXPECT_TRUE(Says(ended.words, {"the run's hours", "so it is shortened for the run's hours",
                                 " to " + std::to_string(ended.step) + ":\n"}))
      << ended.words;
  int refits = 0, at = 0;
  for (const WeightEntry& entry : WeightLog(scratch / "whole").entries()) {
    if (entry.cause != WeightEntry::Cause::kDecayRefit) continue;
    ++refits;
    EXPECT_EQ(entry.of_steps, 1000);
    at = static_cast<int>(entry.step) + 1;  // saved with it
  }
  EXPECT_GT(refits, 1);
  ASSERT_LT(at, ended.step);
  EXPECT_NE(StateOf(scratch / "whole", at).find("\"rest\""), std::string::npos);
  fs::copy(scratch / "whole", scratch / "part", fs::copy_options::recursive);
  for (std::int64_t later = at + 1; later <= ended.step; ++later)
    fs::remove_all(scratch / "part" / ("step-000000" + std::to_string(later)));
  SilentConsole console;
  const auto found = FindCheckpoint(scratch / "part", OnDamage::kSetAside, *console);
  ASSERT_EQ(found->facts.step, at);
  const Ended resumed = train(scratch / "part", found);
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.error;
  EXPECT_EQ(EndState(scratch / "part").at("model.safetensors"),
            EndState(scratch / "whole").at("model.safetensors"));
  EXPECT_EQ(EndState(scratch / "part").at("metrics.jsonl"), EndState(scratch / "whole").at("metrics.jsonl"));
}

TEST(RunWithHours, WithoutADecayStopsAndAResumeGoesOn) {
  const ScratchDirectory scratch;
  const RunConfig config = HoursConfig(8, 12, 0);
  const Ended first = TrainTimed(scratch / "run", config, 1);
  EXPECT_EQ(first.code, ExitCode::kDone);
  EXPECT_TRUE(Says(first.words, {"hours are over", "goes on"}));
  EXPECT_LT(first.step, 12);
  SilentConsole console;
  const Ended second =
      TrainTimed(scratch / "run", config, 1, FindCheckpoint(scratch / "run", OnDamage::kSetAside, *console));
  EXPECT_EQ(second.step, 12);
  TrainTimed(scratch / "whole", HoursConfig(0, 12, 0), 1);
  EXPECT_EQ(EndState(scratch / "run"), EndState(scratch / "whole"));
}

// Whatever lies beside it, and whether the decay is over.
TEST(RunWithHours, ThatGetsMoreGoesOnFromBeforeItsEarlyDecay) {
  const ScratchDirectory scratch;
  RunConfig config = HoursConfig(21, 100, 0.3);
  config.checkpoint = {.every = 0, .keep = 1};
  const fs::path run = scratch / "run";
  TrainTimed(run, config, 1);
  SilentConsole console;
  const auto newest = FindCheckpoint(run, OnDamage::kSetAside, *console);
  ASSERT_EQ(newest->facts.step, 20);
  EXPECT_EQ(ListCheckpoints(run).size(), 2U);
  EXPECT_EQ(StateOf(run, 14).find("early_decay"), std::string::npos) << "it is decided anew";
  const auto from = [&](const RunConfig& now) -> std::int64_t {
    const auto found = BeforeTheFall(run, *newest, config, now, *console);
    return found ? found->facts.step : -1;
  };
  EXPECT_EQ(from(config), -1) << "nothing is more";
  EXPECT_EQ(from(HoursConfig(20, 100, 0.3)), -1);
  EXPECT_EQ(from(HoursConfig(42, 100, 0.3)), 14);
  EXPECT_EQ(from(HoursConfig(0, 100, 0.3)), 14);
  EXPECT_EQ(from(HoursConfig(21, 40, 0.3)), 14) << "other steps, of which the decay begins later";
  EXPECT_EQ(from(HoursConfig(21, 19, 0.3)), -1) << "fewer than were trained";
  EXPECT_EQ(from(HoursConfig(42, 100, 0.9)), -1) << "its decay would begin before that step";

  const RunConfig longer = HoursConfig(42, 100, 0.3);
  const auto before = BeforeTheFall(run, *newest, config, longer, *console);
  fs::remove_all(newest->path);  // as the session sets it aside
  const Ended ended = TrainTimed(run, longer, 1, before);
  EXPECT_EQ(ended.code, ExitCode::kDone) << ended.error;
  EXPECT_GT(ended.step, 50) << "the hours count anew";
  EXPECT_TRUE(Says(ended.words, {"the run's hours", "decayed early"})) << ended.words;
}

}  // namespace
}  // namespace medley::testing_fixture
