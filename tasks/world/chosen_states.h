#pragma once

#include <medley/base/random.h>

#include "tasks/world/solver.h"
#include "tasks/world/state.h"

// Bare states that have a chosen answer, so that labels can be drawn before states. Left to chance, one state
// in twenty would be a "yes".
namespace medley::world {

// The next move on the way to the gold is `move`: kForward, kClock or kAnticlock. The direction is uniform
// among those that have this answer.
State StateWithNextMove(Action move, RowRandom& random);

// Closer to the gold than kNearDistance, or not.
State StateByNearness(bool near, RowRandom& random);

// The agent looks straight enough at the gold to hit it, or not.
State StateByAim(bool hits, RowRandom& random);

struct Solved {
  State state;
  int moves = 0;  // to the gold
};
Solved SolvableState(RowRandom& random);

}  // namespace medley::world
