#include <medley/train/run_hours.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>

#include "tests/report/silent_console.h"
#include "tests/words.h"

namespace medley {
namespace {

using nlohmann::json;
using test::SilentConsole;

RunConfig HoursConfig(double seconds, std::int64_t steps, double decay_fraction) {
  RunConfig config;
  config.steps = steps;
  config.hours = seconds / 3600;
  config.eval.every = 5;
  config.checkpoint.every = 1;
  config.optimizer.decay_fraction = decay_fraction;
  return config;
}

// What a run's loop does with its hours, without the run.
struct Loop {
  explicit Loop(const RunConfig& config, std::int64_t from = 0,
                std::optional<RunScript> script = std::nullopt)
      : config(config),
        hours(
            config, *console, [this] { return clock; }, std::move(script)),
        step(from) {}

  // How long the step with this number takes, by a clock that may jump; evaluations and saves come behind it.
  void Run(const std::function<double(std::int64_t)>& seconds) {
    start = clock;
    hours.Start(step);
    for (;;) {
      const std::int64_t end = hours.decay().end();
      const std::vector<DecayMove> moved = hours.Watch(step);
      moves.insert(moves.end(), moved.begin(), moved.end());
      if (step >= hours.decay().end() || hours.over()) break;
      EXPECT_TRUE(moved.empty() == (end == hours.decay().end())) << "what moves is told";
      ends.push_back(hours.decay().end());
      scales.push_back(ScheduleScale(config.optimizer, hours.decay(), step));
      clock += seconds(step++);
      if (config.eval.every > 0 && step % config.eval.every == 0) clock += evaluation;
      if (config.checkpoint.every > 0 && step % config.checkpoint.every == 0) clock += save;
    }
    if (config.checkpoint.every == 0 || step % config.checkpoint.every != 0) clock += save;
    passed = clock - start;
  }
  double so_far() const { return clock - start; }

  RunConfig config;
  SilentConsole console;
  double clock = 1000, start = 0, passed = 0, evaluation = 0, save = 0;
  RunHours hours;
  std::int64_t step;
  std::vector<DecayMove> moves;
  std::vector<std::int64_t> ends;  // by step that was done
  std::vector<double> scales;      // "
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

TEST(RunHours, WhereNoDecayFitsItBeginsAtOnceAndIsAsShortAsItMustBe) {
  Loop loop(HoursConfig(100, 100000, 0.3), /*from=*/7000);
  loop.Run([](std::int64_t) { return 1; });
  EXPECT_EQ(loop.hours.begun().start, 7007) << "after a fourteenth of the hours";
  EXPECT_EQ(loop.step, 7100);
  EXPECT_NEAR(loop.scales.back(), 1.0 / 93, 1e-9);
  EXPECT_NE(loop.console.words().find("the run ends after step 7100"), std::string::npos)
      << loop.console.words();
}

TEST(RunHours, AClockThatJumpsCostsItsJump) {
  const RunConfig config = HoursConfig(1000, 100000, 0.3);
  struct Jump {
    std::int64_t at;
    double seconds, start_low, start_high, end_low, end_high;
  };
  for (const Jump& jump : {Jump{300, 1e6, 301, 301, 301, 301},    // beyond the hours
                           Jump{300, 200, 440, 570, 640, 801},    // costs its time, and at most as much again
                           Jump{300, -1e6, 695, 705, 990, 1001},  // set back
                           Jump{800, 1e9, 699, 701, 801, 801},    // in the decay
                           Jump{800, 100, 699, 701, 895, 901},    // "
                           Jump{800, -1e9, 699, 701, 990, 1001}}) {  // "
    Loop loop(config);
    loop.Run([&](std::int64_t step) { return step == jump.at ? jump.seconds : 1.0; });
    EXPECT_GE(loop.hours.begun().start, jump.start_low) << jump.at << " " << jump.seconds;
    EXPECT_LE(loop.hours.begun().start, jump.start_high) << jump.at << " " << jump.seconds;
    EXPECT_GE(loop.step, jump.end_low) << jump.at << " " << jump.seconds;
    EXPECT_LE(loop.step, jump.end_high) << jump.at << " " << jump.seconds;
  }
}

// What an early decay may cost: its hours are kept within 2 %, or a step and its evaluation and save.
struct Course {
  double seconds, pace, fraction, factor, when;  // steps take `factor` as long from that part of the hours on
  double evaluation = 0, save = 0;
};
std::ostream& operator<<(std::ostream& out, const Course& course) {
  return out << "steps of " << course.pace << " s, decay " << course.fraction << ", " << course.factor
             << " times slower from " << course.when << " on, evaluations of " << course.evaluation << " s";
}

std::vector<Course> Courses() {
  std::vector<Course> courses;
  for (const double pace : {0.1, 1.0, 20.0}) {
    for (const double fraction : {0.1, 0.3, 0.6}) {
      for (const double factor : {1.0, 3.0, 10.0}) {
        for (const double within : {0.0, 0.2, 0.6, 0.98, 1.0, 1.02, 1.2, 1.5, 1.9, 1.99}) {
          // 1: where the decay begins; 2: where it ends.
          const double when = within <= 1 ? within * (1 - fraction) : 1 - fraction + (within - 1) * fraction;
          for (const double evaluation : {0.0, 40.0, 400.0})
            courses.push_back({3600, pace, fraction, factor, when, evaluation, evaluation / 40});
        }
      }
    }
  }
  return courses;
}

Loop LoopOf(const Course& course, std::int64_t every) {
  RunConfig config = HoursConfig(course.seconds, 10'000'000, course.fraction);
  config.eval.every = course.evaluation > 0 ? every : 0;
  config.checkpoint.every = every;
  return Loop(config);
}

TEST(RunHours, AreKeptWhateverBecomesOfTheSteps) {
  for (const Course& course : Courses()) {
    const auto every = static_cast<std::int64_t>(600 / course.pace);
    Loop loop = LoopOf(course, every);
    loop.evaluation = course.evaluation;
    loop.save = course.save;
    const double slow = course.pace * course.factor;
    loop.Run([&](std::int64_t) { return loop.so_far() < course.when * course.seconds ? course.pace : slow; });
    const double allowed = std::max(0.02 * course.seconds, slow + course.evaluation + course.save);
    EXPECT_LE(loop.passed, course.seconds + allowed) << course;
    EXPECT_GE(loop.passed, course.seconds - allowed) << course;
    EXPECT_EQ(loop.step, loop.hours.decay().end()) << course;
    EXPECT_TRUE(loop.hours.is_early());
    EXPECT_LE(loop.moves.size(), 120u) << course << ": each is written down";
  }
}

TEST(RunHours, TheLearningRateFallsToItsEndAndNeverJumps) {
  for (const Course& course : Courses()) {
    if (course.pace > 1) continue;  // too few steps to fall in
    Loop loop = LoopOf(course, static_cast<std::int64_t>(600 / course.pace));
    loop.evaluation = course.evaluation;
    loop.Run([&](std::int64_t) {
      return course.pace * (loop.so_far() < course.when * course.seconds ? 1 : course.factor);
    });
    const auto first = static_cast<std::size_t>(loop.hours.begun().start);
    for (std::size_t step = first + 1; step < loop.scales.size(); ++step)
      ASSERT_LE(loop.scales[step], loop.scales[step - 1]) << course << " at " << step;
    // As if the rest of the decay were planned anew at each step, of all that the clock allows.
    for (std::size_t step = first + 1; step < loop.scales.size(); ++step) {
      const double left = static_cast<double>(loop.ends[step - 1]) - static_cast<double>(step) + 1;
      ASSERT_LE(loop.scales[step - 1] - loop.scales[step], loop.scales[step - 1] / left + 1e-12) << course;
    }
    // What was left when steps became slow in the last tenth of the decay, or an evaluation took it, is
    // little.
    const bool foreseen = course.when < 1 - course.fraction * 0.2 && course.evaluation < 100;
    if (foreseen) {
      EXPECT_LT(loop.scales.back(), 0.25) << course;
    }
  }
}

TEST(RunHours, AnEvaluationThatTakesLongerThanWhatIsLeftIsNotBegunWhereThatIsKnown) {
  RunConfig config = HoursConfig(1000, 100000, 0.3);
  config.eval.every = 100;
  config.checkpoint.every = 0;
  Loop known(config);
  known.evaluation = 60;
  known.Run([](std::int64_t) { return 1; });
  EXPECT_LE(known.passed, 1001);
  EXPECT_GE(known.passed, 1000 - 61);
  // Each step is cheap, and an evaluation has most of the time: the last one that fits is the end.
  Loop long_ones(config);
  long_ones.evaluation = 230;
  long_ones.Run([](std::int64_t) { return 1; });
  EXPECT_LE(long_ones.passed, 1001);
  EXPECT_GE(long_ones.passed, 1000 - 231);
  // The first one tells how long they take.
  config.eval.every = 800;
  Loop unknown(config);
  unknown.evaluation = 5000;
  unknown.Run([](std::int64_t) { return 1; });
  EXPECT_EQ(unknown.step, 800);
  EXPECT_NE(unknown.console.words().find("step 800: the run's hours, 0.27"), std::string::npos)
      << unknown.console.words();
  EXPECT_NE(unknown.console.words().find("are over: it ends here, with its learning rate at 0.6"),
            std::string::npos)
      << unknown.console.words();
}

TEST(RunHours, TheLastSaveIsAPartOfThem) {
  RunConfig config = HoursConfig(1000, 100000, 0.3);
  config.eval.every = 0;
  config.checkpoint.every = 200;
  Loop loop(config);
  loop.save = 30;
  loop.Run([](std::int64_t) { return 1; });
  EXPECT_LE(loop.passed, 1001);
  EXPECT_GE(loop.passed, 1000 - 31);
}

// As long as other programs run, say. Nothing is lost of what comes after it.
TEST(RunHours, ATimeOfSlowStepsInTheDecayCostsNoMoreThanItself) {
  for (const double factor : {3.0, 10.0}) {
    for (const double begin : {710.0, 800.0, 900.0}) {
      Loop loop(HoursConfig(1000, 1000000, 0.3));
      loop.Run([&](std::int64_t) {
        const double now = loop.so_far();
        return 0.1 * (now >= begin && now < begin + 40 ? factor : 1);
      });
      EXPECT_NEAR(loop.passed, 1000, 20) << factor << " " << begin;
      for (auto step = static_cast<std::size_t>(loop.hours.begun().start) + 1; step < loop.scales.size();
           ++step)
        ASSERT_LE(loop.scales[step], loop.scales[step - 1]) << step;
      const std::int64_t latest = DecayFrom(loop.config.optimizer, loop.hours.begun().start).end();
      EXPECT_LE(*std::max_element(loop.ends.begin() + loop.hours.begun().start, loop.ends.end()), latest);
    }
  }
}

TEST(RunHours, OfADecayThatBeganInTimeAreKeptToo) {
  RunConfig config = HoursConfig(1000, 1000, 0.3);
  Loop loop(config);
  loop.Run([&](std::int64_t step) { return step < 750 ? 0.9 : 9.0; });
  EXPECT_NEAR(loop.passed, 1000, 20);
  EXPECT_LT(loop.step, 1000);
  EXPECT_EQ(loop.hours.begun().start, 700) << "which was not early";
  EXPECT_NE(loop.console.words().find("steps take longer than when the decay began, so it is shortened"),
            std::string::npos)
      << loop.console.words();
  json progress;
  loop.hours.Save(progress);
  Loop again(config, loop.step);
  again.hours.Load(progress);
  again.Run([](std::int64_t) { return 1; });
  EXPECT_EQ(again.step, loop.step);
  EXPECT_NE(again.console.words().find("the run is done: it was shortened, for its hours, in steps 700 to"),
            std::string::npos)
      << again.console.words();
}

// Up to each of its steps, and on at any pace.
TEST(RunHours, AResumeGoesOnInAShortenedDecayAsItWas) {
  const RunConfig config = HoursConfig(1000, 100000, 0.3);
  const auto slower = [](std::int64_t step) { return step < 750 ? 1.0 : 3.0; };
  Loop whole(config);
  whole.Run(slower);
  ASSERT_GT(whole.moves.size(), 2u);
  for (std::int64_t at = 690; at < whole.step; at += 7) {
    Loop first(config);
    json progress = json::object();
    first.hours.Start(0);
    for (first.step = 0; first.step <= at; ++first.step) {
      if (first.step > 0) first.clock += slower(first.step - 1);
      first.hours.Watch(first.step);
      progress = json::object();
      first.hours.Save(progress);
    }
    const std::int64_t end = whole.ends[static_cast<std::size_t>(at)];
    for (const double pace : {0.001, 1.0, 30.0, 1e6}) {
      Loop next(config, at);
      next.hours.Load(json::parse(progress.dump()));
      next.Run([&](std::int64_t) { return pace; });
      EXPECT_EQ(next.scales.front(), whole.scales[static_cast<std::size_t>(at)]) << at;
      if (at <= whole.hours.begun().start) continue;
      EXPECT_LE(next.step, end) << at;
      EXPECT_LE(next.passed, 1000 + std::max(20.0, pace)) << at << " " << pace;
      if (pace > 1) continue;
      EXPECT_EQ(next.step, end) << at;
      EXPECT_TRUE(next.moves.empty());
    }
  }
}

TEST(RunHours, AReplayRepeatsWhatTheClockDecided) {
  for (int seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const double fraction = 0.05 + static_cast<double>(random() % 90) / 100;
    const RunConfig config = HoursConfig(1000, 1000 + random() % 2000, fraction);
    double pace = 1;
    Loop first(config);
    first.Run([&](std::int64_t) {
      if (random() % 100 == 0) pace = 0.1 * static_cast<double>(1 + random() % 50);
      return pace;
    });
    RunScript script{.last_step = first.step, .decays = first.moves};
    for (const double other : {0.0, 1e6}) {
      Loop again(config, 0, script);
      again.hours.Start(0);
      for (std::int64_t step = 0; step < first.step; ++step) {
        again.hours.Watch(step);
        ASSERT_EQ(again.hours.decay().end(), first.ends[static_cast<std::size_t>(step)])
            << seed << " " << step;
        ASSERT_EQ(ScheduleScale(config.optimizer, again.hours.decay(), step),
                  first.scales[static_cast<std::size_t>(step)])
            << seed << " " << step;
        again.clock += other;
      }
      again.hours.Watch(first.step);
      json was, is;
      first.hours.Save(was);
      again.hours.Save(is);
      EXPECT_EQ(is, was) << seed;
    }
  }
}

// An older medley wrote down that a decay began early, and it was finished.
TEST(RunHours, AReplayOfAnOlderRunHasItsWholeDecay) {
  RunScript script{.last_step = 100, .decays = {{.begins = true, .step = 70}}};
  Loop loop(HoursConfig(100, 1000, 0.3), 0, script);
  loop.Run([](std::int64_t) { return 1000; });
  EXPECT_EQ(loop.step, 100);
  EXPECT_NEAR(loop.scales.back(), 1.0 / 30, 1e-9);
  // What was decided for other steps does not hold.
  script.decays = {{.begins = true, .step = 70, .ends = 90, .of_steps = 2000}};
  Loop other(HoursConfig(100, 1000, 0.3), 0, script);
  other.Run([](std::int64_t) { return 1; });
  EXPECT_EQ(other.step, 1000);
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

TEST(RunHours, TheTimeLeftIsThatOfTheHours) {
  Loop loop(HoursConfig(1000, 100000, 0.3));
  std::map<std::int64_t, double> left;
  loop.Run([&](std::int64_t step) {
    left[step] = loop.hours.SecondsLeft();
    return 1;
  });
  EXPECT_EQ(left.at(600), 400);
  EXPECT_EQ(left.at(800), 200) << "in the decay too";
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
       {"7", "null", "{}", R"({"start": -1, "of_steps": 1000})", R"({"start": 7, "of_steps": "x"})",
        R"({"start": 70, "of_steps": 1000, "rest": 7})",
        R"({"start": 70, "of_steps": 1000, "rest": {"start": 80, "end": 90}})",
        R"({"start": 70, "of_steps": 1000, "rest": {"start": 80, "end": 79, "scale": 0.5}})",
        R"({"start": 70, "of_steps": 1000, "rest": {"start": 80, "end": 90, "scale": "x"}})"}) {
    Loop loop(HoursConfig(100, 1000, 0.3));
    const json progress = {{"early_decay", json::parse(value)}};
    const std::string words = test::MessageOf([&] { loop.hours.Load(progress); });
    EXPECT_TRUE(test::Has(words, "early_decay") && test::Has(words, "take an older checkpoint")) << value;
  }
}

}  // namespace
}  // namespace medley
