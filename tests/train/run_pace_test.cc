#include <medley/train/run_pace.h>

#include <gtest/gtest.h>

#include <random>

namespace medley {
namespace {

RunPace PaceOf(std::int64_t eval_every, std::int64_t save_every) {
  return {{.every = eval_every, .rows = 1}, {.every = save_every, .keep = 1}};
}

// A run that has measured all: its steps take 2 s, its evaluations 30 s, its saves 7 s.
RunPace MeasuredPace(std::int64_t eval_every, std::int64_t save_every, std::int64_t steps = 1000) {
  RunPace pace = PaceOf(eval_every, save_every);
  for (std::int64_t step = 1; step <= steps; ++step) {
    double seconds = 2;
    if (eval_every > 0 && step % eval_every == 0) seconds += 30;
    if (save_every > 0 && step % save_every == 0) seconds += 7;
    pace.Add(step, seconds, /*decay=*/100);
  }
  return pace;
}

// Step by step.
double SlowlyNeeded(std::int64_t step, std::int64_t end, std::int64_t eval_every, std::int64_t save_every) {
  double seconds = 0;
  bool saved = false;
  while (step < end) {
    ++step;
    seconds += 2;
    if (eval_every > 0 && step % eval_every == 0) seconds += 30;
    saved = save_every > 0 && step % save_every == 0;
    if (saved) seconds += 7;
  }
  return saved ? seconds : seconds + (save_every > 0 ? 7 : 0);
}

TEST(RunPace, KnowsWhatIsLeftWithItsEvaluationsAndSaves) {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto period = [&] { return static_cast<std::int64_t>(random() % 4 == 0 ? 0 : 2 + random() % 40); };
    const std::int64_t evals = period(), saves = period();
    if (evals > 0 && saves > 0 && (evals % saves == 0 || saves % evals == 0)) continue;  // never each alone
    const RunPace pace = MeasuredPace(evals, saves, 5000);
    for (int i = 0; i < 20; ++i) {
      const auto step = static_cast<std::int64_t>(random() % 1000),
                 end = step + 1 + static_cast<std::int64_t>(random() % 200);
      const double needed = SlowlyNeeded(step, end, evals, saves);
      EXPECT_NEAR(pace.Needed(step, end, pace.recent()), needed, 1e-6) << seed;
      std::int64_t slow_end = step;
      while (slow_end < end && SlowlyNeeded(step, slow_end + 1, evals, saves) <= needed / 2) ++slow_end;
      EXPECT_EQ(pace.EndWithin(step, end, needed / 2), slow_end) << seed << " " << evals << " " << saves;
    }
  }
}

TEST(RunPace, OfWhatAlwaysCameTogetherKnowsThat) {
  const RunPace pace = MeasuredPace(100, 100);
  EXPECT_NEAR(pace.Needed(1000, 1100, pace.recent()), 237, 1e-6);
  EXPECT_NEAR(pace.Needed(1000, 1099, pace.recent()), 198, 1e-6) << "and a save, which is not known";
}

TEST(RunPace, WhatIsDoneAfterEachStepIsAPartOfIt) {
  const RunPace pace = MeasuredPace(1, 1);
  EXPECT_FALSE(pace.Pauses(5));
  EXPECT_NEAR(pace.Needed(0, 10, pace.recent()), 390, 1e-6);
}

TEST(RunPace, OneMeanIsSoonRightAndTheOtherSteady) {
  RunPace pace = PaceOf(0, 0);
  for (std::int64_t step = 1; step <= 1000; ++step) pace.Add(step, 1, 400);
  RunPace waited = pace;
  waited.Add(1001, 401, 400);
  EXPECT_NEAR(waited.steady(), 2, 1e-9) << "400 s more for 400 steps: it counts once";
  for (std::int64_t step = 1001; step <= 1100; ++step) pace.Add(step, 10, 400);
  EXPECT_GT(pace.recent(), 9);
  EXPECT_LT(pace.steady(), 4);
}

TEST(RunPace, PeriodsThatNeverMeetDoNotOverflow) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const RunPace pace = PaceOf(kHuge - 1, kHuge - 3);
  EXPECT_EQ(pace.Needed(0, 1000, 1), 1000);
}

}  // namespace
}  // namespace medley
