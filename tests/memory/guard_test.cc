#include <gtest/gtest.h>
#include <medley/memory/guard.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace medley {
namespace {

constexpr std::int64_t kGB = 1000000000;
constexpr std::int64_t kMB = 1000000;

// A step of one draw that peaks and keeps so much.
StepMemory StepOf(const std::string& task, std::int64_t peak, std::int64_t kept = 0, std::int64_t floor = 0) {
  StepMemory memory;
  memory.after = {.now = floor, .peak = peak, .reserved = floor, .reserved_peak = peak};
  memory.draws = {{.task = task, .peak = peak, .kept = kept}};
  return memory;
}

std::vector<GuardFinding> JudgeAll(Guard& guard, int steps, const StepMemory& memory) {
  std::vector<GuardFinding> all;
  for (int step = 1; step <= steps; ++step) {
    for (GuardFinding& finding : guard.Judge(step, memory).findings) all.push_back(std::move(finding));
  }
  return all;
}

// A run saves at what is critical: the next step may be the last.
bool Saves(const GuardVerdict& verdict) {
  return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                     [](const GuardFinding& finding) { return finding.level == GuardLevel::kCritical; });
}

// Seed 002's figures for its 16 GB card.
TEST(GuardTest, WithoutAPlanA16GBBudgetWarnsAt10CleansAt12AndSavesAt14) {
  struct Case {
    std::int64_t gigabytes;
    GuardLevel level;
    bool clean_up, save;
  };
  for (const Case& expected : {Case{9, GuardLevel::kFine, false, false},
                               {11, GuardLevel::kWarning, false, false},
                               {13, GuardLevel::kWarning, true, false},
                               {15, GuardLevel::kCritical, true, true}}) {
    Guard guard({.budget = 16 * kGB});
    const GuardVerdict verdict = guard.Judge(11, StepOf("zoom", expected.gigabytes * kGB));
    EXPECT_EQ(verdict.clean_up, expected.clean_up) << expected.gigabytes;
    EXPECT_EQ(Saves(verdict), expected.save) << expected.gigabytes;
    ASSERT_EQ(verdict.findings.empty(), expected.level == GuardLevel::kFine) << expected.gigabytes;
    if (verdict.findings.empty()) continue;
    EXPECT_EQ(verdict.findings[0].level, expected.level);
    EXPECT_EQ(verdict.findings[0].task, "zoom");
    EXPECT_NE(verdict.findings[0].words.find("while task zoom ran"), std::string::npos);
  }
}

TEST(GuardTest, ACachingAllocatorIsCleanedUpEveryTenSteps) {
  for (const bool caches : {false, true}) {
    Guard guard({.budget = 16 * kGB, .caches = caches});
    int clean_ups = 0;
    for (int step = 1; step <= 100; ++step)
      clean_ups += guard.Judge(step, StepOf("zoom", kGB)).clean_up ? 1 : 0;
    EXPECT_EQ(clean_ups, caches ? 10 : 0);
  }
}

TEST(GuardTest, AFullBudgetThatWasPlannedIsNoNews) {
  Guard guard(
      {.budget = 16 * kGB, .expected = Guard::Expectation{.floor = kGB, .peaks = {{"zoom", 15900 * kMB}}}});
  EXPECT_TRUE(JudgeAll(guard, 200, StepOf("zoom", 15900 * kMB, 0, kGB)).empty());
}

TEST(GuardTest, APeakAboveItsPlanIsJudgedByWhatWasNotPlannedAndNamesTheTask) {
  for (const auto& [above, level] : {std::pair{40 * kMB, GuardLevel::kFine},
                                     {100 * kMB, GuardLevel::kWarning},
                                     {600 * kMB, GuardLevel::kCritical}}) {
    Guard guard(
        {.budget = 10 * kGB, .expected = Guard::Expectation{.floor = kGB, .peaks = {{"zoom", 2 * kGB}}}});
    const GuardVerdict verdict = guard.Judge(1, StepOf("zoom", 2 * kGB + above, 0, kGB));
    ASSERT_EQ(verdict.findings.empty(), level == GuardLevel::kFine);
    EXPECT_EQ(Saves(verdict), level == GuardLevel::kCritical);
    if (verdict.findings.empty()) continue;
    EXPECT_EQ(verdict.findings[0].kind, "peak");
    EXPECT_EQ(verdict.findings[0].level, level);
    EXPECT_EQ(verdict.findings[0].task, "zoom");
  }
}

TEST(GuardTest, ThePlansMarginIsForItsErrors) {
  for (const auto& [above, news] : {std::pair{140 * kMB, false}, {260 * kMB, true}}) {
    Guard guard({.budget = 10 * kGB,
                 .expected = Guard::Expectation{
                     .floor = kGB, .peaks = {{"zoom", 2 * kGB}}, .margins = {{"zoom", 100 * kMB}}}});
    EXPECT_EQ(!guard.Judge(1, StepOf("zoom", 2 * kGB + above, 0, kGB)).findings.empty(), news) << above;
  }
}

TEST(GuardTest, AFloorAboveThePlansIsNewsAndCleansUp) {
  Guard guard({.budget = 10 * kGB, .expected = Guard::Expectation{.floor = kGB, .peaks = {}}});
  const GuardVerdict verdict = guard.Judge(20, StepOf("zoom", 3 * kGB, 0, kGB + 200 * kMB));
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].kind, "floor");
  EXPECT_TRUE(verdict.clean_up);
  EXPECT_FALSE(Saves(verdict));
}

TEST(GuardTest, SaysAThingOnceAgainWhenWorseAndAgainAfterAQuietTime) {
  Guard guard({.budget = 16 * kGB});
  int step = 0;
  const auto news = [&](int steps, std::int64_t peak) {
    int said = 0;
    for (int i = 0; i < steps; ++i)
      said += static_cast<int>(guard.Judge(++step, StepOf("zoom", peak)).findings.size());
    return said;
  };
  EXPECT_EQ(news(300, 11 * kGB), 1);
  EXPECT_EQ(news(300, 15 * kGB), 1);
  EXPECT_EQ(news(50, 9 * kGB), 0);
  EXPECT_EQ(news(1, 15 * kGB), 0);
  EXPECT_EQ(news(101, 9 * kGB), 0);
  EXPECT_EQ(news(1, 15 * kGB), 1);
}

TEST(GuardTest, ALeakIsNamedWithItsBytesAStepAndWhenItEnds) {
  Guard guard({.budget = 100 * kMB});
  std::vector<GuardFinding> all;
  for (int step = 1; step <= 120; ++step) {
    // Only every second step is the leaking task's.
    const bool leaks = step % 2 == 0;
    const StepMemory memory = StepOf(leaks ? "leaky" : "clean", 50 * kMB, leaks ? 5000 : 0);
    for (GuardFinding& finding : guard.Judge(step, memory).findings) {
      EXPECT_EQ(step, 104) << "52 steps of its own: two warm up, fifty are judged";
      all.push_back(std::move(finding));
    }
  }
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, "leak");
  EXPECT_EQ(all[0].task, "leaky");
  EXPECT_NE(all[0].words.find("task leaky keeps 5000 bytes a step"), std::string::npos) << all[0].words;
  EXPECT_NE(all[0].words.find("after 10000 more such steps"), std::string::npos) << all[0].words;
}

TEST(GuardTest, ALeakThatIsAboutToEndTheRunIsCritical) {
  Guard guard({.budget = 100 * kMB});
  GuardVerdict last;
  for (int step = 1; step <= 60 && !Saves(last); ++step)
    last = guard.Judge(step, StepOf("leaky", 60 * kMB, 450000));
  EXPECT_TRUE(Saves(last));
  ASSERT_EQ(last.findings.size(), 1u);
  EXPECT_EQ(last.findings[0].kind, "leak");
  EXPECT_EQ(last.findings[0].level, GuardLevel::kCritical);
}

TEST(GuardTest, OneStepThatKeepsMuchIsNamedAtOnce) {
  Guard guard({.budget = 100 * kMB});
  std::vector<GuardFinding> all;
  for (int step = 1; step <= 30; ++step) {
    for (GuardFinding& finding :
         guard.Judge(step, StepOf("hoarder", 20 * kMB, step == 20 ? 600000 : 0)).findings) {
      EXPECT_EQ(step, 20);
      all.push_back(std::move(finding));
    }
  }
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, "leak");
  EXPECT_EQ(all[0].task, "hoarder");
}

TEST(GuardTest, ASecondCopyOfTheWeightsIsSaidWhenItComes) {
  Guard guard({.budget = 100 * kMB, .weights = 10 * kMB});
  std::vector<std::string> said;
  for (int step = 1; step <= 20; ++step) {
    StepMemory memory = StepOf("cloner", 40 * kMB, step == 7 ? 10 * kMB : 0);
    for (const GuardFinding& finding : guard.Judge(step, memory, step >= 7 ? 1 : 0).findings) {
      EXPECT_EQ(step, 7);
      EXPECT_EQ(finding.task, "cloner");
      said.push_back(finding.kind);
    }
  }
  EXPECT_EQ(said, (std::vector<std::string>{"copy", "leak"}));
}

TEST(GuardTest, WhatStaysBesideTheDrawsIsWatchedToo) {
  for (const bool outside : {false, true}) {
    Guard guard({.budget = 100 * kMB});
    StepMemory memory = StepOf("control", 20 * kMB);
    (outside ? memory.kept_outside : memory.kept_between) = 2000;
    const auto all = JudgeAll(guard, 60, memory);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].task, "");
    EXPECT_NE(all[0].words.find(outside ? "evaluation" : "loop"), std::string::npos);
  }
}

TEST(GuardTest, RetriesOfTheAllocatorAreNews) {
  Guard guard({.budget = 100 * kMB, .caches = true});
  StepMemory memory = StepOf("control", 20 * kMB);
  memory.before.retries = 3;
  memory.after.retries = 5;
  const GuardVerdict verdict = guard.Judge(1, memory);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].kind, "retries");
  EXPECT_TRUE(verdict.clean_up);
}

TEST(GuardTest, WhatACachingAllocatorHoldsBeyondTheHighestPeakIsNews) {
  Guard guard({.budget = 100 * kMB, .caches = true});
  StepMemory heavy = StepOf("heavy", 50 * kMB), light = StepOf("light", 5 * kMB);
  heavy.after.reserved_peak = light.after.reserved_peak = 59 * kMB;
  EXPECT_TRUE(guard.Judge(1, heavy).findings.empty());
  EXPECT_TRUE(guard.Judge(2, light).findings.empty()) << "kept for the heavy task";
  light.after.reserved_peak = 61 * kMB;
  const GuardVerdict verdict = guard.Judge(3, light);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].kind, "slack");
}

// What is held is compared with the peaks since; and ten steps go by until memory is cleaned up again.
TEST(GuardTest, APhaseThatChangesCleansUpAndForgetsThePeaksBefore) {
  for (const bool changes : {false, true}) {
    Guard guard({.budget = 100 * kMB, .caches = true});
    StepMemory heavy = StepOf("heavy", 50 * kMB), light = StepOf("light", 5 * kMB);
    light.after.reserved_peak = 52 * kMB;
    EXPECT_TRUE(guard.Judge(1, heavy).findings.empty());
    if (changes) {
      EXPECT_TRUE(guard.SizesChange().clean_up);
    }
    const GuardVerdict verdict = guard.Judge(2, light);
    EXPECT_EQ(verdict.findings.size(), changes ? 1U : 0U);
    EXPECT_FALSE(verdict.clean_up);
    EXPECT_EQ(guard.Judge(11, light).clean_up, changes);
  }
}

// The slow way to the same slope.
double SlowSlope(const std::vector<double>& y) {
  const auto n = static_cast<double>(y.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto x = static_cast<double>(i);
    sx += x, sy += y[i], sxx += x * x, sxy += x * y[i];
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

TEST(FloorWatchTest, TheSlopeIsLeastSquaresOverTheLastFiftySteps) {
  std::mt19937 random(9);
  FloorWatch watch(kGB);
  std::vector<double> sums;
  double sum = 0;
  int leaks = 0;
  for (int step = 0; step < 400; ++step) {
    const std::int64_t kept = static_cast<std::int64_t>(random() % 60000) - (step < 200 ? 30000 : 10000);
    const auto leak = watch.Add(kept);
    if (step < 2) continue;
    sum += static_cast<double>(kept);
    sums.push_back(sum);
    if (sums.size() > 50) sums.erase(sums.begin());
    if (!leak) continue;
    ++leaks;
    EXPECT_NEAR(leak->bytes_per_step, SlowSlope(sums), 1e-6 * leak->bytes_per_step);
    EXPECT_GT(leak->bytes_per_step, FloorWatch::LeastSlope(kGB));
  }
  EXPECT_GT(leaks, 50);
  EXPECT_LT(leaks, 350);
}

TEST(FloorWatchTest, WarmUpOneCacheAndNoiseAreNoLeaks) {
  FloorWatch warm(100 * kMB), cache(100 * kMB), noise(100 * kMB), small(100 * kMB);
  for (int step = 0; step < 500; ++step) {
    EXPECT_FALSE(warm.Add(step < 2 ? 90 * kMB : 0)) << step;
    EXPECT_FALSE(cache.Add(step == 30 || step == 31 ? 400000 : 0)) << step;
    EXPECT_FALSE(noise.Add(step % 2 == 0 ? 300000 : -300000)) << step;
    EXPECT_FALSE(small.Add(1000)) << "below " << FloorWatch::LeastSlope(100 * kMB);
  }
  EXPECT_EQ(FloorWatch::LeastSlope(16 * kGB), 160000);
  EXPECT_EQ(FloorWatch::LeastSlope(kMB), 1024);
}

}  // namespace
}  // namespace medley
