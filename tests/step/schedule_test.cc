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

// From the scale that it has, to the same last one, as often as its end is moved.
TEST(Schedule, TheRestOfADecayGoesOnWhereItIs) {
  OptimizerConfig config;
  config.decay_fraction = 0.5;
  config.final_scale = 0.1;
  const Decay whole = DecayOf(config, 200);
  for (int step = 100; step < 200; ++step) {
    const double now = ScheduleScale(config, whole, step);
    for (const int end : {step + 1, step + 7, 180, 199, 200}) {
      if (end <= step) continue;
      const Decay rest = RestOf(config, whole, step, end);
      EXPECT_EQ(rest.end(), end);
      EXPECT_EQ(ScheduleScale(config, rest, step), now) << "bit for bit";
      EXPECT_DOUBLE_EQ(ScheduleScale(config, rest, end), 0.1);
      for (int later = step + 1; later < end; ++later)
        EXPECT_NEAR(ScheduleScale(config, rest, later - 1) - ScheduleScale(config, rest, later),
                    (now - 0.1) / (end - step), 1e-12);
      const Decay again = RestOf(config, rest, step, end + 3);
      EXPECT_EQ(ScheduleScale(config, again, step), now);
    }
    EXPECT_EQ(RestOf(config, whole, step, step).end(), step) << "it ends here";
  }
  EXPECT_EQ(RestOf(config, whole, 100, 200), whole);
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

// Figures of the published algorithm: two phases, of which the first ends at rise_fraction * steps - 1.
TEST(Schedule, OneCycleIsPyTorchs) {
  struct Point {
    std::int64_t total;
    double rise_fraction;
    std::int64_t step;
    double scale;
  };
  for (const Point& point :
       {Point{10, 0.3, 0, 0.040000000000000036}, Point{10, 0.3, 1, 0.52}, Point{10, 0.3, 2, 1.0},
        Point{10, 0.3, 3, 0.9504846320134737}, Point{10, 0.3, 5, 0.6112620219362893},
        Point{10, 0.3, 8, 0.049519367986526286}, Point{10, 0.3, 9, 4e-06},
        Point{100, 0.1, 0, 0.040000000000000036}, Point{100, 0.1, 1, 0.06894754202276399},
        Point{100, 0.1, 2, 0.15229866730289066}, Point{100, 0.1, 9, 1.0},
        Point{100, 0.1, 10, 0.9996954147278939}, Point{100, 0.1, 50, 0.5695882721338308},
        Point{100, 0.1, 98, 0.0003085852721061571}, Point{100, 0.1, 99, 4e-06},
        Point{37, 0.5, 0, 0.040000000000000036}, Point{37, 0.5, 1, 0.047713797472657804},
        Point{37, 0.5, 2, 0.07060726209292623}, Point{37, 0.5, 17, 0.9980676611177147},
        Point{37, 0.5, 18, 0.9981987514762861}, Point{37, 0.5, 35, 0.007196016057966466},
        Point{37, 0.5, 36, 4e-06},
        // So short that it falls from the start.
        Point{1, 0.3, 0, 4e-06}, Point{2, 0.3, 0, 0.811745653949763}, Point{3, 0.3, 0, 0.9944154354509117},
        Point{3, 0.3, 1, 0.46263710266697505}, Point{10, 0.05, 0, 0.9931806789787544},
        Point{10, 0.05, 4, 0.5412915075774754}}) {
    OptimizerConfig config;
    config.schedule = "one_cycle";
    config.rise_fraction = point.rise_fraction;
    EXPECT_NEAR(ScheduleScale(config, DecayOf(config, point.total), point.step), point.scale, 1e-14)
        << point.total << " " << point.step;
  }
}

TEST(Schedule, ALongerRunIsTheSameUpToTheStepBehindWhichTheRateFalls) {
  for (const double fraction : {0.0, 0.01, 0.1, 0.3, 0.95, 1.0}) {
    for (const std::int64_t steps : {1, 2, 7, 10, 100, 101}) {
      OptimizerConfig config;
      config.decay_fraction = fraction;
      config.warmup_steps = 9;
      const Decay decay = DecayOf(config, steps);
      const std::optional<std::int64_t> before = StepBeforeFall(config, decay);
      EXPECT_EQ(before.has_value(), decay.steps > 1 && decay.start > 0) << fraction << " " << steps;
      if (!before) continue;
      for (const std::int64_t longer : {steps + 10, 3 * steps}) {
        const Decay later = DecayOf(config, longer);
        ASSERT_GE(later.start, *before);
        for (std::int64_t step = 0; step <= *before; ++step)
          EXPECT_EQ(ScheduleScale(config, decay, step), ScheduleScale(config, later, step));
      }
      config.final_scale = 1;
      EXPECT_FALSE(StepBeforeFall(config, decay)) << "it stays";
    }
  }
  OptimizerConfig one_cycle;
  one_cycle.schedule = "one_cycle";
  EXPECT_FALSE(StepBeforeFall(one_cycle, DecayOf(one_cycle, 100)));
}

}  // namespace
}  // namespace medley
