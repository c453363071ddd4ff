#include "tests/tasks/world_testing.h"

namespace medley::world {
namespace {

State EmptyArena(Point agent, double direction) {
  State state;
  for (std::uint64_t seed = 0; state.walls.size() != 4; ++seed) state = BareStateOf(seed);
  state.agent = agent;
  state.direction = direction;
  state.gold = {};
  return state;
}

TEST(Game, AFreeStepIsOneSixteenthAlongTheDirection) {
  const State state = EmptyArena({0.5, 0.5}, 1.0);
  const State forward = Act(state, Action::kForward).state;
  EXPECT_NEAR(forward.agent.x, 0.5 + std::cos(1.0) / 16, 1e-12);
  EXPECT_NEAR(forward.agent.y, 0.5 + std::sin(1.0) / 16, 1e-12);
  const State back = Act(forward, Action::kBackward).state;
  EXPECT_NEAR(Distance(back.agent, state.agent), 0, 1e-12);
}

TEST(Game, SixtyTurnsMakeACircleAndTurnsUndoEachOther) {
  State state = EmptyArena({0.5, 0.5}, 0.25);
  const State turned = Act(Act(state, Action::kClock).state, Action::kAnticlock).state;
  EXPECT_NEAR(turned.direction, 0.25, 1e-12);
  EXPECT_NEAR(Act(state, Action::kClock).state.direction, 0.25 - kPi / 30, 1e-12);
  for (int i = 0; i < 60; ++i) {
    state = Act(state, Action::kAnticlock).state;
    EXPECT_GE(state.direction, 0);
    EXPECT_LT(state.direction, 2 * kPi);
  }
  EXPECT_NEAR(state.direction, 0.25, 1e-9);
}

TEST(Game, ABlockedStepBacksOffInPixelsOf224) {
  // The wall begins at 0.9375; the agent may come to 0.8875.
  for (int pixels = 0; pixels < 14; ++pixels) {
    const double room = (pixels + 0.5) / 224;
    const State state = EmptyArena({0.8875 - room, 0.5}, 0);
    const State moved = Act(state, Action::kForward).state;
    EXPECT_NEAR(moved.agent.x - state.agent.x, pixels / 224.0, 1e-12) << pixels;
  }
}

TEST(Game, TouchingAWallIsLegalAndOverlappingIsNot) {
  const State state = EmptyArena({0.5, 0.5}, 0);
  EXPECT_FALSE(Collides(state, {0.0625 + 0.0625, 0.5}, 0.0625));  // exact in binary
  EXPECT_TRUE(Collides(state, {0.0625 + 0.0625 - 1e-9, 0.5}, 0.0625));
  EXPECT_TRUE(Collides(state, {0.03, 0.5}, 1e-6));
}

TEST(Game, ACornerIsRound) {
  State state;
  state.walls.Add({0.5, 0.5, 0.2, 0.1, 0});
  EXPECT_FALSE(Collides(state, {0.46, 0.46}, 0.05));
  EXPECT_TRUE(Collides(state, {0.47, 0.47}, 0.05));
  EXPECT_TRUE(Collides(state, {0.46, 0.55}, 0.05));
}

TEST(Game, ATurnedWallExtendsFromItsCornerTowardsLowerXAndHigherY) {
  State state;
  state.walls.Add({0.5, 0.2, 0.4, 0.0625, kPi / 2});
  EXPECT_TRUE(Collides(state, {0.47, 0.4}, 1e-6));
  EXPECT_FALSE(Collides(state, {0.51, 0.4}, 1e-6));
  EXPECT_FALSE(Collides(state, {0.43, 0.4}, 1e-6));
  EXPECT_TRUE(Collides(state, {0.45, 0.59}, 1e-6));
  EXPECT_FALSE(Collides(state, {0.45, 0.61}, 1e-6));
}

TEST(Game, GoldIsEatenStrictlyBelowTheTwoRadii) {
  State state = EmptyArena({0.5, 0.5}, 0);
  state.gold.Add({0.5, 0.5 + kAgentRadius + kGoldRadius + 1e-9});
  state.gold.Add({0.5, 0.5 - kAgentRadius - kGoldRadius + 1e-9});
  const Moved moved = Act(state, Action::kNone);
  EXPECT_EQ(moved.eaten, 1);
  ASSERT_EQ(moved.state.gold.size(), 1U);
  EXPECT_GT(moved.state.gold[0].y, 0.5);
  EXPECT_EQ(state.gold.size(), 2U) << "the caller's state is a value";
}

TEST(Game, OneForwardStepFromABareStateIsMostlyWhole) {
  constexpr int kTrials = 20000;
  double length = 0;
  int whole = 0, none = 0, eaten = 0;
  for (int i = 0; i < kTrials; ++i) {
    const State state = BareStateOf(static_cast<std::uint64_t>(i));
    const Moved moved = Act(state, Action::kForward);
    const double step = Distance(state.agent, moved.state.agent);
    length += step / kTrials;
    whole += step > 0.0624;
    none += step < 1e-9;
    eaten += moved.eaten;
    EXPECT_FALSE(Collides(moved.state, moved.state.agent, moved.state.agent_radius));
  }
  EXPECT_NEAR(length, 0.059, 0.001);
  ExpectRate(whole, kTrials, 0.90, 0.01);
  ExpectRate(none, kTrials, 0.0065, 0.0015);
  ExpectRate(eaten, kTrials, 0.011, 0.001);
}

}  // namespace
}  // namespace medley::world
