#include "tasks/world/state.h"

#include <algorithm>
#include <cmath>

namespace medley::world {
namespace {

constexpr int kBackOffs = 13;
constexpr double kBackOff = 1.0 / 224;

bool Touches(const Wall& wall, Point centre, double radius) {
  const Point axis = UnitVector(wall.angle);
  const double dx = centre.x - wall.x;
  const double dy = centre.y - wall.y;
  const double a = axis.x * dx + axis.y * dy;
  const double b = -axis.y * dx + axis.x * dy;
  const double outside_a = std::max({-a, 0.0, a - wall.w});
  const double outside_b = std::max({-b, 0.0, b - wall.h});
  return outside_a * outside_a + outside_b * outside_b < radius * radius;
}

// Moves the agent by the longest of the tried lengths whose end point is free.
void Move(State& state, double sign) {
  const double dx = sign * std::cos(state.direction);
  const double dy = sign * std::sin(state.direction);
  for (int tries = kBackOffs + 1; tries > 0; --tries) {
    const double length = tries > kBackOffs ? kStep : tries * kBackOff;
    const Point end{state.agent.x + length * dx, state.agent.y + length * dy};
    if (Collides(state, end, state.agent_radius)) continue;
    state.agent = end;
    return;
  }
}

int Eat(State& state) {
  int eaten = 0;
  for (std::size_t i = state.gold.size(); i-- > 0;) {
    if (Distance(state.agent, state.gold[i]) >= state.agent_radius + state.gold_radius) continue;
    state.gold.Remove(i);
    ++eaten;
  }
  return eaten;
}

}  // namespace

Point UnitVector(double angle) {
  if (angle == 0) return {1, 0};
  if (angle == kPi / 2) return {0, 1};
  return {std::cos(angle), std::sin(angle)};
}

double WrapAngle(double angle) {
  const double turns = std::floor(angle / (2 * kPi));
  const double wrapped = angle - turns * 2 * kPi;
  // A tiny negative angle rounds up to a full turn.
  return wrapped >= 2 * kPi || wrapped < 0 ? 0 : wrapped;
}

double Distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

bool Collides(const State& state, Point centre, double radius) {
  return std::any_of(state.walls.begin(), state.walls.end(),
                     [&](const Wall& wall) { return Touches(wall, centre, radius); });
}

Moved Act(const State& state, Action action) {
  Moved moved{state, 0};
  switch (action) {
    case Action::kNone:
      break;
    case Action::kForward:
      Move(moved.state, 1);
      break;
    case Action::kBackward:
      Move(moved.state, -1);
      break;
    case Action::kClock:
      moved.state.direction = WrapAngle(state.direction - kTurn);
      break;
    case Action::kAnticlock:
      moved.state.direction = WrapAngle(state.direction + kTurn);
      break;
  }
  moved.eaten = Eat(moved.state);
  return moved;
}

}  // namespace medley::world
