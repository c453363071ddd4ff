#include "tasks/world/random_states.h"

#include <algorithm>

#include <medley/base/error.h>

namespace medley::world {
namespace {

constexpr double kInnerLow = kWallThickness;
constexpr double kInnerHigh = 1 - kWallThickness;
constexpr double kGapPiece = 0.45;
constexpr int kMostTries = 100000;

struct Box {
  Point low{kInnerLow, kInnerLow};
  Point high{kInnerHigh, kInnerHigh};
};

void AddSideWalls(State& state, RowRandom& random) {
  constexpr double kT = kWallThickness;
  const std::int64_t split = random.Coin() ? random.Below(4) : -1;
  // Left, top, bottom, right in the engine's axes; the first and the last run along y.
  constexpr Wall kSides[] = {
      {0, 0, kT, 1, 0}, {0, 0, 1, kT, 0}, {0, 1 - kT, 1, kT, 0}, {1 - kT, 0, kT, 1, 0}};
  for (std::int64_t i = 0; i < 4; ++i) {
    const Wall& side = kSides[i];
    if (i != split) {
      state.walls.Add(side);
      continue;
    }
    const bool along_y = side.h == 1;
    Wall first = side;
    Wall second = side;
    (along_y ? first.h : first.w) = kGapPiece;
    (along_y ? second.h : second.w) = kGapPiece;
    (along_y ? second.y : second.x) = 1 - kGapPiece;
    state.walls.Add(first);
    state.walls.Add(second);
  }
}

void AddInnerWall(State& state, RowRandom& random) {
  Wall wall{0, 0, random.Uniform(0.375, 0.75), kWallThickness, 0};
  if (random.Coin()) {
    wall.x = random.Uniform(kInnerLow, kInnerHigh - wall.w);
    wall.y = random.Uniform(kInnerLow, kInnerHigh - wall.h);
  } else {  // turned: it extends from its corner towards -x and +y
    wall.angle = kPi / 2;
    wall.x = random.Uniform(kInnerLow + wall.h, kInnerHigh);
    wall.y = random.Uniform(kInnerLow, kInnerHigh - wall.w);
  }
  state.walls.Add(wall);
}

Point ValidPoint(const State& state, double radius, const Box& box, RowRandom& random) {
  for (int i = 0; i < kMostTries; ++i) {
    const Point point{random.Uniform(box.low.x, box.high.x), random.Uniform(box.low.y, box.high.y)};
    if (!Collides(state, point, radius)) return point;
  }
  throw Error("game world: no room for a disc of radius " + std::to_string(radius) + " between the walls");
}

void PlaceAgent(State& state, RowRandom& random) {
  state.agent = ValidPoint(state, state.agent_radius, {}, random);
  state.direction = random.Uniform(0, 2 * kPi);
}

void AddGold(State& state, const Box& box, RowRandom& random) {
  for (int i = 0; i < kMostTries; ++i) {
    const Point gold = ValidPoint(state, state.gold_radius, box, random);
    if (Distance(gold, state.agent) < state.agent_radius + state.gold_radius) continue;
    state.gold.Add(gold);
    return;
  }
  throw Error("game world: no room for gold beside the agent; use a larger gold offset");
}

}  // namespace

State BareState(RowRandom& random, const BareOptions& options) {
  State state;
  AddSideWalls(state, random);
  PlaceAgent(state, random);
  const double offset = options.gold_offset;
  const Box box{{std::max(kInnerLow, state.agent.x - offset), std::max(kInnerLow, state.agent.y - offset)},
                {std::min(kInnerHigh, state.agent.x + offset), std::min(kInnerHigh, state.agent.y + offset)}};
  AddGold(state, box, random);
  return state;
}

State FullState(RowRandom& random) {
  State state;
  AddSideWalls(state, random);
  for (std::int64_t i = random.Below(2); i >= 0; --i) AddInnerWall(state, random);
  PlaceAgent(state, random);
  for (std::int64_t i = random.Below(2); i >= 0; --i) AddGold(state, {}, random);
  return state;
}

State Jitter(const State& state, RowRandom& random) {
  State now = state;
  for (int i = 0; i < 3; ++i) {
    const auto action = static_cast<Action>(1 + random.Below(4));
    for (std::int64_t times = 1 + random.Below(30); times > 0; --times) now = Act(now, action).state;
  }
  return now;
}

}  // namespace medley::world
