#include <algorithm>

#include "tasks/world/solver.h"
#include "tests/tasks/world_testing.h"

namespace medley::world {
namespace {

TEST(RandomStates, BareStatesHaveFreeAgentAndGold) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const State state = BareStateOf(seed);
    ASSERT_EQ(state.gold.size(), 1U);
    EXPECT_FALSE(Collides(state, state.agent, kAgentRadius));
    EXPECT_FALSE(Collides(state, state.gold[0], kGoldRadius));
    EXPECT_GE(GoldDistance(state), kAgentRadius + kGoldRadius);
    if (state.walls.size() == 5) continue;  // an agent may lean into the gap
    EXPECT_GE(std::min(state.agent.x, state.agent.y), 0.1125 - 1e-12);
    EXPECT_LE(std::max(state.agent.x, state.agent.y), 0.8875 + 1e-12);
  }
}

TEST(RandomStates, BareStatesHaveTheReferencesRates) {
  constexpr int kTrials = 20000;
  int gaps = 0, near = 0, close = 0, hit = 0, anticlock = 0;
  std::vector<double> distances;
  for (int i = 0; i < kTrials; ++i) {
    const State state = BareStateOf(static_cast<std::uint64_t>(i));
    const double distance = GoldDistance(state);
    gaps += state.walls.size() == 5;
    near += GoldIsNear(state);
    close += distance < 0.13125;
    hit += WillHit(state);
    anticlock += TurnIsAnticlockwise(state.direction, Bearing(state));
    distances.push_back(distance);
  }
  std::sort(distances.begin(), distances.end());
  double mean = 0;
  for (const double d : distances) mean += d / kTrials;
  ExpectRate(gaps, kTrials, 0.5);
  ExpectRate(near, kTrials, 0.072, 0.0005);
  ExpectRate(close, kTrials, 0.051, 0.0005);
  ExpectRate(hit, kTrials, 0.051, 0.001);
  ExpectRate(anticlock, kTrials, 0.5);
  EXPECT_NEAR(mean, 0.43, 0.01);
  EXPECT_NEAR(distances[kTrials / 2], 0.42, 0.01);
  EXPECT_LE(distances.back(), 1.2);
}

TEST(RandomStates, EachSideHasItsShareOfTheGaps) {
  constexpr int kTrials = 8000;
  std::array<int, 4> gap_at{};
  const std::array<Point, 4> gaps{{{0.03, 0.5}, {0.5, 0.03}, {0.5, 0.97}, {0.97, 0.5}}};
  for (int i = 0; i < kTrials; ++i) {
    const State state = BareStateOf(static_cast<std::uint64_t>(i));
    for (std::size_t side = 0; side < 4; ++side) gap_at[side] += !Collides(state, gaps[side], 1e-6);
  }
  for (const int count : gap_at) ExpectRate(count, kTrials, 0.125);
}

TEST(RandomStates, AGoldOffsetKeepsTheGoldBeside) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RowRandom random = RandomOf(seed);
    const State state = BareState(random, {.gold_offset = 0.1});
    EXPECT_LE(std::abs(state.gold[0].x - state.agent.x), 0.1);
    EXPECT_LE(std::abs(state.gold[0].y - state.agent.y), 0.1);
    EXPECT_GE(GoldDistance(state), kAgentRadius + kGoldRadius);
  }
}

TEST(RandomStates, InnerWallsLieInsideWithAllFourCorners) {
  int turned = 0, inner = 0, two_gold = 0;
  constexpr int kTrials = 3000;
  for (int i = 0; i < kTrials; ++i) {
    const State state = FullStateOf(static_cast<std::uint64_t>(i));
    EXPECT_FALSE(Collides(state, state.agent, kAgentRadius));
    two_gold += state.gold.size() == 2;
    for (const Point& gold : state.gold) {
      EXPECT_FALSE(Collides(state, gold, kGoldRadius));
      EXPECT_GE(Distance(gold, state.agent), kAgentRadius + kGoldRadius);
    }
    for (const Wall& wall : state.walls) {
      if (wall.w == 1 || wall.h == 1 || wall.w == 0.45 || wall.h == 0.45) continue;  // sides
      ++inner;
      turned += wall.angle != 0;
      EXPECT_EQ(wall.h, kWallThickness);
      EXPECT_GE(wall.w, 0.375);
      EXPECT_LE(wall.w, 0.75);
      const Point axis = UnitVector(wall.angle);
      for (const double a : {0.0, wall.w}) {
        for (const double b : {0.0, wall.h}) {
          const Point corner{wall.x + a * axis.x - b * axis.y, wall.y + a * axis.y + b * axis.x};
          EXPECT_GE(std::min(corner.x, corner.y), 1.0 / 16 - 1e-12);
          EXPECT_LE(std::max(corner.x, corner.y), 15.0 / 16 + 1e-12);
        }
      }
    }
  }
  ExpectRate(two_gold, kTrials, 0.5);
  ExpectRate(turned, inner, 0.5);
  ExpectRate(inner - kTrials, kTrials, 0.5);  // one or two each
}

TEST(RandomStates, JitterMovesFullStatesAndSometimesEats) {
  constexpr int kTrials = 3000;
  int lost = 0, moved = 0;
  for (int i = 0; i < kTrials; ++i) {
    RowRandom random = RandomOf(static_cast<std::uint64_t>(i));
    const State state = FullState(random);
    const State after = Jitter(state, random);
    lost += after.gold.size() < state.gold.size();
    moved += Distance(after.agent, state.agent) > 0 || after.direction != state.direction;
    EXPECT_FALSE(Collides(after, after.agent, kAgentRadius));
  }
  ExpectRate(lost, kTrials, 0.075, 0.005);
  EXPECT_GT(moved, kTrials * 95 / 100);
}

}  // namespace
}  // namespace medley::world
