#include <medley/train/run_events.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "tests/report/silent_console.h"
#include "tests/train/on_event.h"
#include "tests/words.h"

namespace medley {
namespace {

using std::chrono::milliseconds;
using test::Has;
using test::Listener;

TEST(StallClock, AMinuteAndTenTimesTheMedianStepAreAStall) {
  StallClock clock;
  clock.Begin(0);
  EXPECT_FALSE(clock.Look(1e6)) << "no step so far";
  for (const double seconds : {1.0, 1.0, 100.0}) clock.Step(10, seconds);
  EXPECT_FALSE(clock.Look(69));
  const auto stall = clock.Look(70);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->seconds, 60);
  EXPECT_EQ(stall->median, 1);
  EXPECT_FALSE(clock.Look(1000)) << "once";
  for (int i = 0; i < 3; ++i) clock.Step(1000, 20);
  EXPECT_FALSE(clock.Look(1199));
  EXPECT_TRUE(clock.Look(1200)) << "again, once a step came: ten times 20 s";
}

TEST(StallClock, OnlyRecentStepsCount) {
  StallClock clock;
  for (int i = 0; i < 300; ++i) clock.Step(0, 100);
  EXPECT_FALSE(clock.Look(999));
  for (std::size_t i = 0; i < StallClock::kRecent; ++i) clock.Step(0, 1);
  EXPECT_TRUE(clock.Look(60));
}

TEST(StallClock, WorkBesideStepsHasTenMinutesFromSignToSign) {
  StallClock clock;
  clock.Step(0, 1);
  clock.Work(50);
  EXPECT_FALSE(clock.Look(649));
  clock.Work(649);
  EXPECT_FALSE(clock.Look(1248));
  EXPECT_TRUE(clock.Look(1249));
  clock.Step(2000, 1);
  clock.Work(2000);
  clock.WorkDone(2100);
  EXPECT_FALSE(clock.Look(2159));
  EXPECT_TRUE(clock.Look(2160)) << "as between steps again";
}

TEST(StallClock, WhoGoesOnTrainingBeginsAnew) {
  StallClock clock;
  clock.Step(0, 1);
  clock.Begin(5000);  // a program did something else meanwhile
  EXPECT_FALSE(clock.Look(5059));
  EXPECT_TRUE(clock.Look(5060));
}

bool Within(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

TEST(StallWatch, TellsOnItsOwnThreadAndOnlyWhileItIsToWatch) {
  std::atomic<double> now = 0;
  std::atomic<std::uint64_t> signs = 0;
  std::atomic<int> told = 0, looked = 0;
  StallWatch watch({.now =
                        [&] {
                          ++looked;
                          return now.load();
                        },
                    .look_every = milliseconds(1),
                    .signs = [&] { return signs.load(); }},
                   [&](const Stall&) { ++told; });
  const auto looks = [&] {
    const int before = looked;
    return Within([&] { return looked > before + 2; });
  };
  watch.Begin();
  watch.Step(0.1);
  now = 59;
  EXPECT_TRUE(looks());
  EXPECT_EQ(told, 0);
  ++signs;
  EXPECT_TRUE(looks());
  now = 200;
  EXPECT_TRUE(looks());
  EXPECT_EQ(told, 0) << "an evaluation goes on";
  now = 659;
  EXPECT_TRUE(Within([&] { return told == 1; }));
  EXPECT_TRUE(looks());
  EXPECT_EQ(told, 1);
  watch.Step(0.1);
  watch.End();
  now = 5000;
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(told, 1);
}

class Events : public ::testing::Test {
 protected:
  std::unique_ptr<RunEvents> Begin(const std::filesystem::path& program, RunEvents::Setting setting = {}) {
    setting.command = {program.string()};
    setting.run = scratch_ / "run";
    setting.steps = 9;
    return std::make_unique<RunEvents>(std::move(setting), *console_);
  }
  static StepRecord Record(std::int64_t step) {
    StepRecord record;
    record.step = step;
    record.seconds = 1;
    record.losses["zoom"]["pixels"] = {.sum = 3, .count = 2};
    return record;
  }
  // Of a program: until that file is there.
  std::string WaitsFor(const std::string& file) const {
    return "while [ ! -e \"" + (scratch_ / file).string() + "\" ]; do sleep 0.01; done";
  }
  static ExitCode Done() { return ExitCode::kDone; }
  static std::string Over() { return "all its steps are done"; }

  ScratchDirectory scratch_;
  test::SilentConsole console_;
};

TEST_F(Events, EachHasWhatIsKnownOfTheRun) {
  const Listener listener(scratch_.path());
  const auto events = Begin(listener.path(), {.first_stage = "easy"});
  const auto train = [&] {
    StepRecord record = Record(3);
    record.evaluation.emplace();
    record.evaluation->tasks["zoom"].score.value = 0.25;
    record.evaluation->tasks["odd"].score.value = std::nan("");
    events->Take(record);
    events->Take(StageStart{.step = 3, .name = "hard"});
    events->Take(SaveRecord{.step = 3, .checkpoint = scratch_ / "run/step-00000003"});
    return ExitCode::kSomethingDropped;
  };
  EXPECT_EQ(events->Train(train, Over), ExitCode::kSomethingDropped);
  EXPECT_EQ(listener.Words(), "stage easy 0, stage hard 3, checkpoint 3, end 3");
  const auto heard = listener.Heard();
  ASSERT_EQ(heard.size(), 4U);
  EXPECT_FALSE(heard[0].contains("losses"));
  nlohmann::json end = heard[3];
  EXPECT_TRUE(Has(end.at("time").get<std::string>(), "T"));
  end.erase("time");
  EXPECT_EQ(end, nlohmann::json({{"event", "end"},
                                 {"run", (scratch_ / "run").string()},
                                 {"name", "run"},
                                 {"step", 3},
                                 {"steps", 9},
                                 {"why", "all its steps are done"},
                                 {"exit_code", 3},
                                 {"losses", {{"zoom", 1.5}}},
                                 {"scores", {{"zoom", 0.25}, {"odd", nullptr}}}}));
  EXPECT_EQ(heard[2].at("checkpoint"), (scratch_ / "run/step-00000003").string());
  EXPECT_FALSE(Has(console_.words(), "on_event: ")) << console_.words();
}

TEST_F(Events, ThatItEndsOrFailsIsToldOnceAndNotWhereItOnlyWentAsFarAsItWasAsked) {
  const Listener listener(scratch_.path());
  const auto events = Begin(listener.path());
  events->Train(Done, [] { return ""; });
  EXPECT_EQ(listener.Words(), "");
  events->Train([] { return ExitCode::kInterrupted; }, [] { return ""; });
  EXPECT_THROW(events->Train([]() -> ExitCode { throw Error("no\nnumber", ExitCode::kDoesNotFit); }, Over),
               Error);
  for (int i = 0; i < 2; ++i) events->Train(Done, Over);
  EXPECT_EQ(listener.Words(), "end 0, fail 0, end 0");
  const auto heard = listener.Heard();
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_EQ(heard[0].at("why"), "it was interrupted");
  EXPECT_EQ(heard[0].at("exit_code"), 130);
  EXPECT_EQ(heard[1].at("why"), "no\nnumber");
  EXPECT_EQ(heard[1].at("exit_code"), 5);
}

TEST_F(Events, AStallIsToldWhileTheRunStandsStill) {
  const Listener listener(scratch_.path());
  std::atomic<double> now = 0;
  const auto events =
      Begin(listener.path(), {.stalls = {.now = [&] { return now.load(); }, .look_every = milliseconds(1)}});
  const auto train = [&] {
    events->Take(Record(5));
    now = 75;
    EXPECT_TRUE(Within([&] { return !listener.Heard().empty(); }));
    now = 5000;
    LogMarks none;
    events->Take(Record(6));
    events->Sync(none);
    now = 5500;  // a save
    std::this_thread::sleep_for(milliseconds(20));
    return ExitCode::kDone;
  };
  events->Train(train, Over);
  EXPECT_EQ(listener.Words(), "stall 5, end 6");
  EXPECT_EQ(listener.Heard().at(0).at("seconds"), 75);
  EXPECT_EQ(listener.Heard().at(0).at("median_step_seconds"), 1);
}

TEST_F(Events, AProgramThatFailsOrTakesTooLongIsALineAndTheRunGoesOn) {
  const auto slow = test::WriteScript(scratch_ / "slow", "sleep 60");
  const auto fails = test::WriteScript(scratch_ / "fails", "read event; echo 'no net' >&2; exit 7");
  const auto expect_words = [&](std::unique_ptr<RunEvents> events, const std::string& words) {
    const auto train = [&] {
      events->Take(SaveRecord{.step = 1, .checkpoint = scratch_ / "run/step-00000001"});
      events->Take(Record(2));
      return ExitCode::kDone;
    };
    EXPECT_EQ(events->Train(train, Over), ExitCode::kDone);
    EXPECT_TRUE(Has(console_.words(), words)) << console_.words();
  };
  expect_words(Begin(slow, {.limit = milliseconds(100)}),
               "on_event: " + slow.string() + ", told of \"checkpoint\", was killed, as it took too long");
  expect_words(Begin(fails),
               "on_event: " + fails.string() + ", told of \"end\", ended with exit code 7: no net\n");
}

TEST_F(Events, NobodyWaitsForTheProgramUntilTheEndAndThenForAllThatIsQueued) {
  const Listener listener(scratch_.path(), WaitsFor("go"));
  {
    const auto events = Begin(listener.path());
    for (std::int64_t step = 1; step <= 10; ++step)
      events->Take(SaveRecord{.step = step, .checkpoint = scratch_ / "run/step"});
    EXPECT_LE(listener.Heard().size(), 1U);
    WriteText(scratch_ / "go", "");
  }
  EXPECT_EQ(listener.Heard().size(), 10U);
}

TEST_F(Events, WhereTooManyWaitOthersAreLeftOutButNotTheEnd) {
  const Listener listener(scratch_.path(), WaitsFor("go"));
  const auto events = Begin(listener.path());
  const auto train = [&] {
    for (std::int64_t step = 1; step <= 60; ++step)
      events->Take(SaveRecord{.step = step, .checkpoint = scratch_ / "run/step"});
    WriteText(scratch_ / "go", "");
    return ExitCode::kDone;
  };
  events->Train(train, Over);
  const auto heard = listener.Heard();
  EXPECT_LT(heard.size(), 60U);
  EXPECT_GT(heard.size(), EventProgram::kMostWaiting);
  EXPECT_EQ(heard.back().at("event"), "end");
  EXPECT_TRUE(Has(console_.words(), "\"checkpoint\" is left out, as 16 events wait")) << console_.words();
}

}  // namespace
}  // namespace medley
