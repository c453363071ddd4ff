#include <medley/report/slowdown.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/report/silent_console.h"

namespace medley {
namespace {

using Draws = std::vector<std::pair<std::string, std::int64_t>>;

// A run whose steps last as the test says, on a machine that is as the test says.
class TimedSteps {
 public:
  explicit TimedSteps(SlowdownSetting setting = {.threads = 2, .resume = "medley resume R"}) {
    setting.load = [this] { return load; };
    slowdown_.emplace(std::move(setting), *console_);
  }

  // A step of these draws, (task, rows), that takes `times` as long as the tasks' rows do, and something more
  // beside the draws.
  void Step(const Draws& draws, double times = 1, StepRecord record = {}) {
    record.step = ++step_;
    for (const auto& [task, rows] : draws) {
      DrawReceipt draw;
      draw.form = FormId(task);
      draw.rows = rows;
      draw.cut = cut;
      const double seconds = times * static_cast<double>(rows) * cost.at(task);
      draw.seconds = timed ? seconds : 0;
      record.seconds += seconds;
      record.receipts.push_back(std::move(draw));
    }
    record.seconds += times * beside;
    Pass(record.seconds);
    slowdown_->Take(record);
  }
  // Time in which other programs hold so many cores, and the run the others.
  void Pass(double seconds) {
    load.time += seconds;
    load.busy += seconds * static_cast<double>(load.cores);
    load.own += seconds * (static_cast<double>(load.cores) - others);
  }
  void Steady(int steps, double times = 1) {
    for (int i = 0; i < steps; ++i) Step({{i % 3 == 0 ? "costly" : "cheap", 8}}, times);
  }
  std::string words() const { return console_.words(); }
  int warnings() const {
    const std::string text = words();
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  MachineLoad load{.cores = 2};
  double others = 0, beside = 0.01;
  bool timed = true, cut = false;
  std::map<std::string, double> cost = {{"cheap", 0.01}, {"costly", 0.2}, {"new", 0.5}};

 private:
  test::SilentConsole console_;
  std::optional<Slowdown> slowdown_;
  std::int64_t step_ = 0;
};

bool Has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(Slowdown, IsSaidOnceAfterAMinuteWithTheCause) {
  TimedSteps run;
  run.Steady(300);
  EXPECT_EQ(run.words(), "");
  run.others = 1;
  const double began = run.load.time;
  while (run.warnings() == 0 && run.load.time < began + 1000) run.Steady(1, 6);
  EXPECT_GE(run.load.time - began, 60);
  EXPECT_LE(run.load.time - began, 95);
  EXPECT_TRUE(Has(run.words(),
                  " times as long as rows of the same tasks before: other programs keep 1 of 2 cores "
                  "busy (see top), and the run's 2 threads wait for each other."))
      << run.words();
  const std::size_t times = run.words().find("have taken ") + 11;
  EXPECT_NEAR(std::stod(run.words().substr(times)), 6, 0.3) << run.words();
  EXPECT_TRUE(Has(run.words(), "medley resume R threads=1")) << run.words();
  run.Steady(500, 6);
  EXPECT_EQ(run.warnings(), 1) << run.words();
  run.Steady(100, 3);  // not as before
  run.Steady(100, 6);
  EXPECT_EQ(run.warnings(), 1) << run.words();
  run.Steady(300);
  run.Steady(100, 6);
  EXPECT_EQ(run.warnings(), 2) << run.words();
}

TEST(Slowdown, ByLessThanFourTimesIsNotSaid) {
  TimedSteps run;
  run.Steady(300);
  run.Steady(500, 3.5);
  EXPECT_EQ(run.words(), "");
}

TEST(Slowdown, OneLongWaitIsNoMinute) {
  for (const double seconds : {25.0, 100.0, 10000.0}) {
    TimedSteps run;
    run.Steady(300);
    run.Step({{"cheap", 8}}, seconds / 0.09);
    run.Steady(300);
    EXPECT_EQ(run.words(), "") << seconds;
  }
}

// Rows a second fall to a twentieth, as they should.
TEST(Slowdown, AMixtureOfCostlyTasksIsNone) {
  for (const bool timed : {true, false}) {
    TimedSteps run;
    run.timed = timed;
    for (int i = 0; i < 300; ++i) run.Step({{"cheap", 80}});
    for (int i = 0; i < 100; ++i) run.Step({{"costly", 8}});
    for (int i = 0; i < 100; ++i) run.Step({{"costly", 80}});
    for (int i = 0; i < 100; ++i) run.Step({{"costly", 80}, {"new", 8}});
    for (int i = 0; i < 300; ++i) run.Step({{"cheap", 80}});
    EXPECT_EQ(run.words(), "") << timed;
    for (int i = 0; i < 300; ++i) run.Step({{"cheap", 80}}, 5);
    EXPECT_EQ(run.warnings(), 1) << run.words();
  }
}

TEST(Slowdown, IsFoundInAnyMixtureThatChangesMeanwhile) {
  for (int seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    TimedSteps run;
    const auto step = [&](double times) {
      Draws draws;
      for (const char* task : {"cheap", "costly", "new"}) {
        if (random() % 3 == 0) draws.emplace_back(task, 1 + random() % 30);
      }
      if (!draws.empty()) run.Step(draws, times * (0.7 + 0.6 * static_cast<double>(random() % 100) / 100));
    };
    for (int i = 0; i < 200; ++i) step(1);
    EXPECT_EQ(run.words(), "") << seed;
    for (int i = 0; i < 100; ++i) step(6);
    EXPECT_EQ(run.warnings(), 1) << seed << run.words();
  }
}

TEST(Slowdown, FirstStepsThatLoadATaskAreNoMeasureOfIt) {
  TimedSteps run;
  for (int i = 0; i < 2; ++i) run.Step({{"cheap", 8}}, 1000);
  run.Steady(300);
  run.Steady(100, 6);
  EXPECT_EQ(run.warnings(), 1) << run.words();
}

TEST(Slowdown, BesideTheDrawsCountsToo) {
  TimedSteps run;
  for (int i = 0; i < 300; ++i) run.Step({{"cheap", 8}});
  run.beside = 1;
  for (int i = 0; i < 100; ++i) {
    StepRecord record;
    record.data_waits = {{"cheap", 900}};
    run.Step({{"cheap", 8}}, 1, record);
  }
  EXPECT_TRUE(Has(run.words(), "waiting for data (cheap)")) << run.words();
}

SlowTime Slow(MachineLoad load = {.time = 60, .cores = 4}) { return {.seconds = 60, .load = load}; }

TEST(SlowdownCause, IsTheOneThatTookTheTime) {
  const SlowdownSetting setting{.threads = 4, .resume = "medley resume R"};
  SlowTime slow = Slow();
  EXPECT_TRUE(Has(CauseOf(slow, setting), "nothing else loads its cores"));
  SlowdownSetting gpu = setting;
  gpu.on_cpu = false;
  EXPECT_TRUE(Has(CauseOf(slow, gpu), "nvidia-smi"));
  slow.cut = 50;
  EXPECT_TRUE(Has(CauseOf(slow, setting), "memory ran out"));
  slow.peers = 40;
  slow.ranks.Add({3, 9, 4});
  EXPECT_EQ(CauseOf(slow, setting), "67 % waiting for other processes of the run; rank 1 is the slowest");
  slow.data = {{"a", 20}, {"b", 25}};
  EXPECT_TRUE(Has(CauseOf(slow, setting), "75 % waiting for data (b)"));
}

TEST(SlowdownCause, OfTheMachineIsItsLoad) {
  const SlowdownSetting setting{.threads = 4, .resume = "medley resume R"};
  struct Case {
    MachineLoad load;
    const char* words;
  };
  for (const Case& one : std::vector<Case>{
           {{.time = 60, .busy = 240, .own = 60, .cores = 4}, "other programs keep 3 of 4 cores busy"},
           {{.time = 60, .busy = 240, .own = 60, .cores = 4}, "medley resume R threads=1"},
           {{.time = 60, .busy = 240, .own = 130, .cores = 4}, "medley resume R threads=2"},
           {{.time = 60, .busy = 240, .own = 239, .cores = 4}, "nothing else loads its cores"},
           {{.time = 60, .busy = 240, .own = 60, .cores = 64}, "nothing else loads its cores"},
           {{.time = 60, .throttled = 40, .cores = 4}, "used up its share of the CPU in 67 %"},
           {{.time = 60, .stolen = 80, .cores = 4}, "gave 33 % of its cores' time to others"},
           {{.time = 60, .pages = 6000, .cores = 4}, "100 times a second the run waited for a page"}}) {
    EXPECT_TRUE(Has(CauseOf(Slow(one.load), setting), one.words)) << CauseOf(Slow(one.load), setting);
  }
  const SlowdownSetting single{.threads = 1, .resume = "medley resume R"};
  const std::string words = CauseOf(Slow({.time = 60, .busy = 240, .own = 6, .cores = 4}), single);
  EXPECT_TRUE(Has(words, "other programs keep 3.9 of 4 cores busy")) << words;
  EXPECT_FALSE(Has(words, "threads=")) << words;
}

TEST(SlowdownCause, NamesThreadsThatSpin) {
  const SlowTime slow = Slow({.time = 60, .busy = 240, .own = 60, .cores = 4});
  const char* before = std::getenv("OMP_WAIT_POLICY");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  EXPECT_TRUE(Has(CauseOf(slow, {.threads = 4}), "OMP_WAIT_POLICY=passive"));
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  EXPECT_FALSE(Has(CauseOf(slow, {.threads = 4}), "OMP_WAIT_POLICY"));
  before == nullptr ? ::unsetenv("OMP_WAIT_POLICY") : ::setenv("OMP_WAIT_POLICY", kept.c_str(), 1);
}

}  // namespace
}  // namespace medley
