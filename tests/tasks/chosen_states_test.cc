#include "tasks/world/chosen_states.h"

#include "tests/tasks/world_testing.h"

namespace medley::world {
namespace {

TEST(ChosenStates, SolvableOnesAreSolvedInTheMovesThatTheySay) {
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    RowRandom random = RandomOf(seed);
    const Solved solved = SolvableState(random);
    const auto trace = Solve(solved.state);
    ASSERT_TRUE(trace.has_value()) << seed;
    EXPECT_EQ(static_cast<int>(trace->size()), solved.moves);
    EXPECT_LE(solved.moves, kLongestTrace);
    rejected += !Solve(BareStateOf(seed)).has_value();  // the first that the same numbers give
  }
  ExpectRate(rejected, 2000, 0.028, 0.002);
}

// Uniform among the directions that have the answer: in the middle half of each range lies half of them.
TEST(ChosenStates, HaveTheNextMoveThatWasChosenFromAllOfItsDirections) {
  constexpr int kTrials = 3000;
  for (const Action move : {Action::kForward, Action::kClock, Action::kAnticlock}) {
    int middle = 0;
    for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
      RowRandom random = RandomOf(seed);
      const State state = StateWithNextMove(move, random);
      EXPECT_EQ(NextMove(state), move);
      const double half = std::asin(kAgentRadius / GoldDistance(state));
      const double away = std::remainder(state.direction - Bearing(state), 2 * kPi);
      const double from = move == Action::kForward ? -half : half;
      const double to = move == Action::kForward ? half : kPi;
      const double along = ((move == Action::kAnticlock ? -away : away) - from) / (to - from);
      EXPECT_GE(along, -1e-9);
      EXPECT_LE(along, 1 + 1e-9);
      middle += along > 0.25 && along < 0.75;
    }
    ExpectRate(middle, kTrials, 0.5);
  }
}

TEST(ChosenStates, AreNearOrHitAsWasChosen) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    for (const bool yes : {false, true}) {
      RowRandom random = RandomOf(seed);
      const State near = StateByNearness(yes, random);
      EXPECT_EQ(GoldDistance(near) < kNearDistance, yes);
      EXPECT_GE(GoldDistance(near), kAgentRadius + kGoldRadius);
      EXPECT_EQ(WillHit(StateByAim(yes, random)), yes);
    }
  }
}

}  // namespace
}  // namespace medley::world
