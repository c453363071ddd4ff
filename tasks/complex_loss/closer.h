#pragma once

#include <ATen/core/Tensor.h>

#include "tasks/drivers/finder.h"

namespace medley::tasks {

// All that the game needs to draw it, [rows, 8] doubles: agent, gold, direction, and 1 where agent, eye and
// gold are found. No gradient.
at::Tensor AsNumbers(const Estimate& estimate);

// How far the drawn objects are from what is wanted, [rows]; 0 in rows where agent or gold is not found.
// Sizes and gold shall stay as they are in `before`, the agent shall come to half its distance from the gold.
at::Tensor CloserLoss(const Estimate& drawn, const Estimate& before);

// The agent's distance from where the gold was, as a share of what it was before, [rows]; 1 in rows where
// agent or gold is not found.
at::Tensor DistanceLeft(const Estimate& drawn, const Estimate& before);

}  // namespace medley::tasks
