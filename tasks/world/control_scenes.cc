#include "tasks/world/control_scenes.h"

#include "tasks/world/random_states.h"

namespace medley::world {
namespace {

constexpr std::int64_t kPlain = 11;     // kinds [0, 11): as drawn
constexpr std::int64_t kJittered = 22;  // [11, 22): after jitter; the rest are close-ups
constexpr std::int64_t kCentres = 9;
constexpr std::int64_t kStride = 11;  // coprime to 40: neighbouring rows are of unlike kinds

Point OnWall(const State& state, RowRandom& random) {
  const Wall& wall =
      state.walls[static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(state.walls.size())))];
  const double place = random.Uniform();
  double a = random.Uniform();
  double b = random.Uniform();
  if (place < 0.8) {  // a corner
    a = random.Coin() ? 1 : 0;
    b = random.Coin() ? 1 : 0;
  } else if (place < 0.95) {  // an edge
    (random.Coin() ? a : b) = random.Coin() ? 1 : 0;
  }
  const Point axis = UnitVector(wall.angle);
  return {wall.x + a * wall.w * axis.x - b * wall.h * axis.y,
          wall.y + a * wall.w * axis.y + b * wall.h * axis.x};
}

Point BesideAgent(const State& state, RowRandom& random) {
  const double r = state.agent_radius;
  return {state.agent.x + random.Uniform(-r, r), state.agent.y + random.Uniform(-r, r)};
}

Point Centre(const State& state, std::int64_t kind, double factor, RowRandom& random) {
  if (kind < 2)
    return state.gold[static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(state.gold.size())))];
  if (kind == 2) return state.agent;
  if (kind == 3) return BesideAgent(state, random);
  if (kind < 6) return OnWall(state, random);
  const double margin = 1 / (2 * factor);
  return {random.Uniform(margin, 1 - margin), random.Uniform(margin, 1 - margin)};
}

}  // namespace

Scene ControlScene(std::int64_t row, RowRandom& random) {
  const std::int64_t kind = row % kControlKinds * kStride % kControlKinds;
  Scene scene{FullState(random), {}};
  if (kind < kPlain) return scene;
  if (kind < kJittered) {
    scene.state = Jitter(scene.state, random);
    return scene;
  }
  const std::int64_t close_up = kind - kJittered;
  const double factor = close_up < kCentres ? random.Uniform(2, 5) : random.Uniform(3, 21.33);
  scene.options.zoom = Zoom{factor, Centre(scene.state, close_up % kCentres, factor, random)};
  return scene;
}

}  // namespace medley::world
