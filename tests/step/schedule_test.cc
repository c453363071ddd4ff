#include <medley/step/schedule.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace medley {
namespace {

TEST(Schedule, RisesStaysAndFalls) {
  OptimizerConfig config;
  config.warmup_steps = 10;
  config.decay_fraction = 0.3;
  config.final_scale = 0.1;
  const Decay decay = DecayOf(config, 100);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, decay, 0), 0.1);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, decay, 9), 1.0);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, decay, 50), 1.0);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, decay, 70), 1.0);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, decay, 85), 0.55);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, decay, 99), 1 - 0.9 * 29 / 30);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, decay, 150), 0.1);
}

TEST(Schedule, NeverJumpsNorLeavesItsBounds) {
  for (const int total : {1, 2, 7, 50, 1000}) {
    for (const int warmup : {0, 1, 5, 100}) {
      for (const double fraction : {0.0, 0.3, 1.0}) {
        OptimizerConfig config;
        config.warmup_steps = warmup;
        config.decay_fraction = fraction;
        double before = -1;
        for (int step = 0; step < total; ++step) {
          const double scale = ScheduleScale(config, DecayOf(config, total), step);
          EXPECT_GT(scale, 0);
          EXPECT_LE(scale, 1);
          if (before >= 0 && warmup != 1 && total >= 50) {
            EXPECT_LE(std::abs(scale - before),
                      1.001 / std::min<double>(warmup > 0 ? warmup : total, std::max(1.0, fraction * total)));
          }
          before = scale;
        }
      }
    }
  }
}

// So a run whose decay begins early learns as the shorter run does.
TEST(Schedule, ADecayFromItsOwnStartIsThatOfTheSteps) {
  for (const double fraction : {0.1, 0.3, 0.5, 0.9}) {
    OptimizerConfig config;
    config.decay_fraction = fraction;
    for (int total = 10; total <= 1000; total += 10) {
      const Decay whole = DecayOf(config, total), early = DecayFrom(config, whole.start);
      EXPECT_EQ(whole.end(), total);
      EXPECT_EQ(early.end(), total) << fraction;
      for (int step = 0; step <= total; ++step)
        ASSERT_EQ(ScheduleScale(config, early, step), ScheduleScale(config, whole, step));
    }
  }
}

}  // namespace
}  // namespace medley
