#pragma once

#include <optional>

#include "tasks/world/state.h"

namespace medley::world {

// Questions about the agent and the first gold. Every state that is asked about must have gold.

double Bearing(const State& state);  // direction from the agent to the gold, [0, 2 pi)
double GoldDistance(const State& state);

// Whether going straight ahead would run into the gold's centre; walls are ignored.
bool WillHit(const State& state);

// Whether the shorter turn from one direction to another is anticlockwise; a tie is not.
bool TurnIsAnticlockwise(double from, double to);
double AngleDifference(double a, double b);  // [0, pi]

// The move of a player that turns until it would hit the gold and then goes.
Action NextMove(const State& state);

inline constexpr int kLongestTrace = 128;
using Trace = InlineList<Action, kLongestTrace>;

// The moves until something is eaten; nullopt where that takes more than kLongestTrace: a wall blocks gold
// that stays ahead, or the turns jump over the gold for ever (2.8 % of bare states).
std::optional<Trace> Solve(const State& state);

bool GoldIsLeft(const State& state);  // of the agent, in the picture
bool GoldIsUp(const State& state);
bool GoldIsNear(const State& state);

}  // namespace medley::world
