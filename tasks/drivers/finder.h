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

at::Tensor Distance(const at::Tensor& a, const at::Tensor& b);  // of points, [rows]

// What a picture should show, and what the model saw before it drew it.
struct Expected {
  Estimate target;
  Estimate input;
};

// How many of a picture's objects, agent and gold, are where they belong, [rows] from 0 to 1, NaN in rows
// without any: those that the target shows, within 6/128 of the picture's side times `zoom` (a number a row,
// [rows]) and with an area between half and twice theirs, an agent that only turned also looking within 30
// degrees of where it should; and those that the input shows and the target does not, which shall not be
// found. No gradient.
struct Found {
  at::Tensor changed;  // of those that moved, turned, grew, appeared or went
  at::Tensor kept;     // of those that the input shows just so, which can be copied
};
Found ShareFound(const Estimate& drawn, const Expected& expected, const at::Tensor& zoom);

}  // namespace medley::tasks
