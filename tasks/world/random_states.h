#pragma once

#include <medley/base/random.h>

#include "tasks/world/state.h"

namespace medley::world {

struct BareOptions {
  double gold_offset = 2;  // the gold lies within the agent +- this on each axis; 2: anywhere
};

// Side walls with a gap in one of them half of the time, the agent, one gold that does not overlap it.
State BareState(RowRandom& random, const BareOptions& options = {});

// Bare, and one or two inner walls along an axis (they may overlap each other), one or two gold.
State FullState(RowRandom& random);

// Three times an action, repeated 1 to 30 times.
State Jitter(const State& state, RowRandom& random);

}  // namespace medley::world
