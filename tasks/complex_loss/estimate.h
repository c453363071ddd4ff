#pragma once

#include <ATen/core/Tensor.h>

namespace medley::tasks {

// Where a picture shows the agent and the gold, by its colours; differentiable. Lengths are fractions of the
// picture's side, points are (row, column). Everything is finite for every finite picture.
struct Estimate {
  at::Tensor agent;                               // [rows, 2]
  at::Tensor agent_radius;                        // [rows], of a disc of the agent's area
  at::Tensor direction;                           // [rows], radians, no gradient
  at::Tensor gold;                                // [rows, 2]
  at::Tensor gold_radius;                         // [rows]
  at::Tensor agent_found, eye_found, gold_found;  // [rows] bool

  at::Tensor both_found() const { return agent_found.logical_and(gold_found); }
};

// `picture` [rows, 3, size, size]; values outside [0, 1] are no error. fp32 at least.
Estimate EstimateObjects(const at::Tensor& picture);

// All that the game needs to draw it, [rows, 8] doubles: agent, gold, direction, and 1 where agent, eye and
// gold are found. No gradient.
at::Tensor AsNumbers(const Estimate& estimate);

at::Tensor Distance(const at::Tensor& a, const at::Tensor& b);  // of points, [rows]

// How far the drawn objects are from what is wanted, [rows]; 0 in rows where agent or gold is not found.
// Sizes and gold shall stay as they are in `before`, the agent shall come to half its distance from the gold.
at::Tensor CloserLoss(const Estimate& drawn, const Estimate& before);

// The agent's distance from where the gold was, as a share of what it was before, [rows]; 1 in rows where
// agent or gold is not found.
at::Tensor DistanceLeft(const Estimate& drawn, const Estimate& before);

}  // namespace medley::tasks
