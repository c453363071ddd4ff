#pragma once

#include <cstdint>

#include <medley/base/random.h>

#include "tasks/world/render.h"

namespace medley::world {

inline constexpr std::int64_t kControlKinds = 40;

// The picture of a row of the control task. Any 40 rows in a row hold 11 full states as drawn, 11 after
// jitter, and 18 close-ups: two factors, U(2, 5) and U(3, 21.33), about 9 centres each (2 gold, agent, beside
// the agent, 2 on walls, 3 anywhere). Each row draws its own state.
Scene ControlScene(std::int64_t row, RowRandom& random);

}  // namespace medley::world
