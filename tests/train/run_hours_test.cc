#include <medley/train/run_hours.h>

#include <random>

#include "tests/train/trainer_fixture.h"

namespace medley::testing_fixture {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

RunConfig HoursConfig(double seconds, std::int64_t steps, double decay_fraction) {
  RunConfig config = TinyConfig(steps);
  config.hours = seconds / 3600;
  config.optimizer.decay_fraction = decay_fraction;
  return config;
}

// What a run's loop does with its hours, without the run.
struct Loop {
  explicit Loop(const RunConfig& config, std::int64_t from = 0)
      : hours(config, *console, [this] { return clock; }), step(from) {}

  // How long the step with this number takes, by a clock that may jump.
  void Run(const std::function<double(std::int64_t)>& seconds) {
    const double start = clock;
    hours.Start(step);
    for (;;) {
      hours.Watch(step);
      if (step >= hours.decay().end() || hours.over()) break;
      clock += seconds(step++);
    }
    passed = clock - start;
  }

  SilentConsole console;
  double clock = 1000, passed = 0;
  RunHours hours;
  std::int64_t step;
};

TEST(RunHours, ARunThatIsTooSlowDecaysToItsEndJustInTime) {
  for (const double fraction : {0.05, 0.3, 0.5, 0.9}) {
    for (const double pace : {0.25, 1.0, 7.0}) {
      const RunConfig config = HoursConfig(3600, 100000, fraction);
      Loop loop(config);
      loop.Run([&](std::int64_t) { return pace; });
      const Decay& decay = loop.hours.decay();
      const double part = fraction / (1 - fraction);
      EXPECT_TRUE(loop.hours.is_early());
      EXPECT_EQ(loop.step, decay.end());
      EXPECT_NEAR(static_cast<double>(decay.steps), part * static_cast<double>(decay.start), 0.51);
      EXPECT_LE(loop.passed, 3600) << fraction << " " << pace;
      EXPECT_GT(loop.passed, 3600 - pace * (3 + part)) << fraction << " " << pace;
      EXPECT_NE(loop.console.words().find("step " + std::to_string(decay.start) + ": the run's hours, 1,"),
                std::string::npos)
          << loop.console.words();
    }
  }
}

TEST(RunHours, ARunThatIsFastEnoughNeverDecaysEarly) {
  for (int seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const std::int64_t steps = 1 + random() % 200;
    const double fraction = static_cast<double>(random() % 1000) / 1000;
    const RunConfig config = HoursConfig(static_cast<double>(steps), steps, fraction);
    Loop loop(config);
    loop.Run([&](std::int64_t) { return 0.001 * static_cast<double>(random() % 1000); });
    EXPECT_FALSE(loop.hours.is_early()) << seed;
    EXPECT_EQ(loop.step, steps) << seed;
    EXPECT_EQ(loop.console.words(), "");
  }
}

TEST(RunHours, ThePaceIsThatOfTheLastSteps) {
  for (const double later : {0.5, 2.0}) {
    Loop loop(HoursConfig(10000, 1000000, 0.3));
    loop.Run([&](std::int64_t step) { return step < 4000 ? 1.0 : later; });
    // At the mean pace of all steps it would be 1,700 too late and 860 too soon.
    EXPECT_NEAR(loop.passed, 10000, later > 1 ? 1200 : 500) << later;
  }
}

// The first steps of a process load its tasks. At their pace a long decay would have to begin at once.
TEST(RunHours, SlowFirstStepsOfAResumeAreNoPace) {
  Loop loop(HoursConfig(1000, 100000, 0.3), /*from=*/5000);
  loop.Run([](std::int64_t step) { return step < 5003 ? 10 : 0.1; });
  EXPECT_NEAR(loop.passed, 1000, 30);
  EXPECT_GT(loop.hours.decay().start, 8000);
}

TEST(RunHours, WhereNoDecayFitsItBeginsAtOnceAndIsFinished) {
  Loop loop(HoursConfig(100, 100000, 0.3), /*from=*/7000);
  loop.Run([](std::int64_t) { return 1; });
  EXPECT_EQ(loop.hours.decay().start, 7007) << "after a fourteenth of the hours";
  EXPECT_EQ(loop.step, 10010);
  EXPECT_NE(loop.console.words().find("later than its hours"), std::string::npos) << loop.console.words();
}

TEST(RunHours, AClockThatJumpsCostsItsJumpAndNeverADecay) {
  const RunConfig config = HoursConfig(1000, 100000, 0.3);
  struct Jump {
    std::int64_t at;
    double seconds, start_low, start_high;
  };
  for (const Jump& jump : {Jump{300, 1e6, 301, 301},      // beyond the hours
                           Jump{300, 200, 440, 570},      // costs its time, and at most as much again
                           Jump{300, -1e6, 695, 705},     // set back
                           Jump{800, 1e9, 699, 701},      // in the decay
                           Jump{800, -1e9, 699, 701}}) {  // "
    Loop loop(config);
    loop.Run([&](std::int64_t step) { return step == jump.at ? jump.seconds : 1.0; });
    const Decay& decay = loop.hours.decay();
    EXPECT_GE(decay.start, jump.start_low) << jump.seconds;
    EXPECT_LE(decay.start, jump.start_high) << jump.seconds;
    EXPECT_EQ(loop.step, decay.end());
    EXPECT_NEAR(static_cast<double>(decay.steps), 3.0 / 7 * static_cast<double>(decay.start), 0.51);
  }
}

TEST(RunHours, WithoutADecayTheRunStopsWhenItsHoursAreOver) {
  for (const double fraction : {0.0, 1.0}) {
    Loop loop(HoursConfig(100, 1000, fraction));
    loop.Run([](std::int64_t) { return 1; });
    EXPECT_EQ(loop.step, 100);
    EXPECT_TRUE(loop.hours.over());
    EXPECT_FALSE(loop.hours.is_early());
    json progress;
    loop.hours.Save(progress);
    EXPECT_TRUE(progress.is_null()) << progress;
  }
}

TEST(RunHours, TheTimeLeftIsThatOfTheHoursUntilTheDecayBegins) {
  Loop loop(HoursConfig(1000, 100000, 0.3));
  std::map<std::int64_t, double> left;
  loop.Run([&](std::int64_t step) {
    left[step] = loop.hours.SecondsLeft();
    return 1;
  });
  EXPECT_EQ(left.at(600), 400);
  EXPECT_EQ(left.at(800), std::numeric_limits<double>::infinity());
  Loop unlimited(HoursConfig(0, 10, 0.3));
  EXPECT_EQ(unlimited.hours.SecondsLeft(), std::numeric_limits<double>::infinity());
}

TEST(RunHours, ASavedDecayHoldsForAsManySteps) {
  const auto load = [](const RunConfig& config, const json& progress) {
    Loop loop(config);
    loop.hours.Load(progress);
    loop.hours.Start(80);
    return std::pair(loop.hours.decay(), loop.console.words());
  };
  const RunConfig config = HoursConfig(100, 1000, 0.3);
  Loop loop(config);
  loop.Run([](std::int64_t) { return 1; });
  json progress = {{"step", 80}};
  loop.hours.Save(progress);
  EXPECT_EQ(progress.dump(), R"({"early_decay":{"of_steps":1000,"start":70},"step":80})");
  const auto [decay, words] = load(config, progress);
  EXPECT_EQ(decay.start, 70);
  EXPECT_EQ(decay.end(), 100);
  EXPECT_NE(words.find("takes steps 70 to 100"), std::string::npos) << words;
  for (const auto& [other, saved] :
       {std::pair(HoursConfig(100, 2000, 0.3), progress), std::pair(HoursConfig(100, 1000, 0), progress),
        std::pair(HoursConfig(100, 1000, 1), progress), std::pair(HoursConfig(100, 1000, 0.99), progress),
        std::pair(config, json{{"step", 80}})}) {  // the last: a checkpoint of before there was the key
    const auto [its_own, nothing] = load(other, saved);
    EXPECT_EQ(its_own.end(), other.steps);
    EXPECT_EQ(nothing, "");
  }
}

TEST(RunHours, ADamagedKeyIsAnErrorThatNamesIt) {
  for (const char* value :
       {"7", "null", "{}", R"({"start": -1, "of_steps": 1000})", R"({"start": 7, "of_steps": "x"})"}) {
    Loop loop(HoursConfig(100, 1000, 0.3));
    const json progress = {{"early_decay", json::parse(value)}};
    EXPECT_TRUE(Says(MessageOf<Error>([&] { loop.hours.Load(progress); }),
                     {"early_decay", "take an older checkpoint"}))
        << value;
  }
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

TEST(RunWithHours, AResumeInTheDecayGoesOnInItAtAnyPace) {
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
    const Ended ended = TrainTimed(part, config, step % 2 == 0 ? 1000 : 0.001, found);
    EXPECT_EQ(ended.code, ExitCode::kDone);
    EXPECT_TRUE(Says(ended.words, {step < 20 ? "the run's decay goes on" : "the run is done", "14 to 20"}));
    EXPECT_EQ(EndState(part), EndState(scratch / "whole")) << step;
  }
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

}  // namespace
}  // namespace medley::testing_fixture
