#pragma once

#include <cstdint>

#include <medley/config/run_config.h>

namespace medley {

// The last part of a run, in which its learning rate falls.
struct Decay {
  std::int64_t start = 0;  // the first of its steps; steps count from 0
  std::int64_t steps = 0;

  std::int64_t end() const { return start + steps; }  // so many steps does the run have
};

// The decay over the last decay_fraction of `total` steps.
Decay DecayOf(const OptimizerConfig& config, std::int64_t total);
// The decay of the run in which it starts at this step: decay_fraction / (1 - decay_fraction) times the steps
// before it. decay_fraction is above 0 and below 1.
Decay DecayFrom(const OptimizerConfig& config, std::int64_t start);

// The learning rate's way, of 1, at the step after `done` of so many: up in a warm-up, whose first step
// already learns and whose last has 1; down in a decay, whose first step has 1 and which reaches `to` at the
// step after its last one.
double Rise(std::int64_t done, std::int64_t steps);
double Fall(std::int64_t done, std::int64_t steps, double to);

// What the learning rate is multiplied with at a step. "wsd", warmup-stable-decay: rises linearly over
// warmup_steps (the first step already learns), stays at 1, and falls linearly over the decay, towards
// final_scale at the step after its last one. "one_cycle" over all steps, those up to the decay's end: as
// PyTorch's OneCycleLR with cosines, its divisors 25 and 1e4 and a constant beta1.
double ScheduleScale(const OptimizerConfig& config, const Decay& decay, std::int64_t step);

}  // namespace medley
