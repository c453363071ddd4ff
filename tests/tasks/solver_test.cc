#include "tasks/world/solver.h"

#include <algorithm>

#include "tests/tasks/world_testing.h"

namespace medley::world {
namespace {

State Aimed(Point agent, Point gold, double direction) {
  State state;
  state.agent = agent;
  state.gold.Add(gold);
  state.direction = direction;
  return state;
}

TEST(Solver, BearingFollowsTheReferencesSpecialCases) {
  EXPECT_DOUBLE_EQ(Bearing(Aimed({.5, .5}, {.5, .7}, 0)), kPi / 2);
  EXPECT_DOUBLE_EQ(Bearing(Aimed({.5, .5}, {.5, .3}, 0)), 3 * kPi / 2);
  EXPECT_DOUBLE_EQ(Bearing(Aimed({.5, .5}, {.5, .5}, 0)), 3 * kPi / 2);
  EXPECT_DOUBLE_EQ(Bearing(Aimed({.5, .5}, {.7, .5}, 0)), 0);
  EXPECT_DOUBLE_EQ(Bearing(Aimed({.5, .5}, {.3, .5}, 0)), kPi);
}

TEST(Solver, WillHitEqualsTheAngleCriterion) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const State state = BareStateOf(seed);
    const double window = std::asin(kAgentRadius / GoldDistance(state));
    const double off = AngleDifference(Bearing(state), state.direction);
    if (std::abs(off - window) < 1e-9) continue;
    EXPECT_EQ(WillHit(state), off < window) << seed;
  }
}

TEST(Solver, NextMovesHaveTheReferencesRates) {
  constexpr int kTrials = 20000;
  std::array<int, 5> moves{};
  for (int i = 0; i < kTrials; ++i) {
    ++moves[static_cast<std::size_t>(NextMove(BareStateOf(static_cast<std::uint64_t>(i))))];
  }
  ExpectRate(moves[1], kTrials, 0.05, 0.002);
  ExpectRate(moves[3], kTrials, 0.475, 0.001);
  ExpectRate(moves[4], kTrials, 0.475, 0.001);
  EXPECT_EQ(moves[0] + moves[2], 0);
}

TEST(Solver, TracesHaveTheReferencesLengths) {
  constexpr int kTrials = 6000;
  std::vector<std::size_t> lengths;
  int unsolved = 0;
  double sum = 0;
  for (int i = 0; i < kTrials; ++i) {
    const State state = BareStateOf(static_cast<std::uint64_t>(i));
    const auto trace = Solve(state);
    if (!trace) {
      ++unsolved;
      continue;
    }
    lengths.push_back(trace->size());
    sum += static_cast<double>(trace->size());
  }
  std::sort(lengths.begin(), lengths.end());
  ExpectRate(unsolved, kTrials, 0.028, 0.002);
  EXPECT_NEAR(sum / static_cast<double>(lengths.size()), 20.3, 0.5);
  EXPECT_NEAR(static_cast<double>(lengths[lengths.size() / 2]), 20, 1);
  EXPECT_LE(lengths[lengths.size() * 99 / 100], 40U);
  EXPECT_LE(lengths.back(), 48U);
}

TEST(Solver, ATraceEatsWithItsLastMoveAndNotBefore) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    State state = BareStateOf(seed);
    const auto trace = Solve(state);
    if (!trace) continue;
    for (std::size_t i = 0; i < trace->size(); ++i) {
      const Moved moved = Act(state, (*trace)[i]);
      EXPECT_EQ(moved.eaten, i + 1 == trace->size() ? 1 : 0);
      state = moved.state;
    }
  }
}

TEST(Solver, SidesAreThoseOfThePicture) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const State state = BareStateOf(seed);
    const auto pixels = Draw({state, {}}, 224);
    double gold_row = 0, gold_column = 0, gold = 0, agent_row = 0, agent_column = 0, agent = 0;
    for (int i = 0; i < 224; ++i) {
      for (int j = 0; j < 224; ++j) {
        const auto color = PixelOf(pixels, 224, i, j);
        if (color == kYellow) gold_row += i, gold_column += j, ++gold;
        if (color == kGreen || color == kRed) agent_row += i, agent_column += j, ++agent;
      }
    }
    const double down = gold_row / gold - agent_row / agent;
    const double right = gold_column / gold - agent_column / agent;
    EXPECT_TRUE(std::abs(down) < 1.5 || GoldIsUp(state) == (down < 0)) << seed;
    EXPECT_TRUE(std::abs(right) < 1.5 || GoldIsLeft(state) == (right < 0)) << seed;
  }
}

}  // namespace
}  // namespace medley::world
