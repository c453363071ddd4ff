#include "tasks/world/solver.h"

#include <cmath>

namespace medley::world {
namespace {

// The gold as the agent sees it: how far ahead, how far to the side.
struct Sight {
  double ahead = 0;
  double aside = 0;
};

Sight Look(const State& state) {
  const Point& gold = state.gold[0];
  const double dx = gold.x - state.agent.x;
  const double dy = gold.y - state.agent.y;
  const double c = std::cos(state.direction);
  const double s = std::sin(state.direction);
  return {c * dx + s * dy, -s * dx + c * dy};
}

}  // namespace

double Bearing(const State& state) {
  const double dx = state.gold[0].x - state.agent.x;
  const double dy = state.gold[0].y - state.agent.y;
  if (dx == 0) return dy > 0 ? kPi / 2 : 3 * kPi / 2;
  return WrapAngle(std::atan2(dy, dx));
}

double GoldDistance(const State& state) { return Distance(state.agent, state.gold[0]); }

bool WillHit(const State& state) {
  const Sight sight = Look(state);
  return sight.ahead > 0 && std::abs(sight.aside) < state.agent_radius;
}

bool TurnIsAnticlockwise(double from, double to) { return WrapAngle(to - from) < WrapAngle(from - to); }

double AngleDifference(double a, double b) { return std::min(WrapAngle(a - b), WrapAngle(b - a)); }

Action NextMove(const State& state) {
  if (WillHit(state)) return Action::kForward;
  return TurnIsAnticlockwise(state.direction, Bearing(state)) ? Action::kAnticlock : Action::kClock;
}

std::optional<Trace> Solve(const State& state) {
  Trace trace;
  State now = state;
  while (trace.size() < Trace::capacity()) {
    const Action action = NextMove(now);
    const Moved moved = Act(now, action);
    trace.Add(action);
    if (moved.eaten > 0) return trace;
    now = moved.state;
  }
  return std::nullopt;
}

bool GoldIsLeft(const State& state) { return state.gold[0].y < state.agent.y; }
bool GoldIsUp(const State& state) { return state.gold[0].x < state.agent.x; }
bool GoldIsNear(const State& state) { return GoldDistance(state) < kNearDistance; }

}  // namespace medley::world
