#include "tasks/world/chosen_states.h"

#include <cmath>

#include "tasks/world/random_states.h"

namespace medley::world {

State StateWithNextMove(Action move, RowRandom& random) {
  while (true) {
    State state = BareState(random);
    const double half = std::asin(kAgentRadius / GoldDistance(state));  // of the directions that hit
    const double away = move == Action::kForward ? random.Uniform(-half, half)
                        : move == Action::kClock ? random.Uniform(half, kPi)
                                                 : random.Uniform(-kPi, -half);
    state.direction = WrapAngle(Bearing(state) + away);
    if (NextMove(state) == move) return state;  // else rounding, at an end of the range
  }
}

State StateByNearness(bool near, RowRandom& random) {
  while (true) {
    // About three in five of the gold in this box are near.
    const State state = near ? BareState(random, {.gold_offset = kNearDistance}) : BareState(random);
    if (GoldIsNear(state) == near) return state;
  }
}

State StateByAim(bool hits, RowRandom& random) {
  if (hits) return StateWithNextMove(Action::kForward, random);
  return StateWithNextMove(random.Coin() ? Action::kClock : Action::kAnticlock, random);
}

Solved SolvableState(RowRandom& random) {
  while (true) {
    const State state = BareState(random);
    if (const auto trace = Solve(state)) return {state, static_cast<int>(trace->size())};
  }
}

}  // namespace medley::world
