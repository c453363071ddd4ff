#pragma once

#include <cstdint>
#include <optional>

#include <medley/config/run_config.h>

namespace medley {

// The last part of a run, in which its learning rate falls; or what is left of it, where its end was moved.
struct Decay {
  std::int64_t start = 0;  // the first of its steps; steps count from 0
  std::int64_t steps = 0;
  double from = 1;  // the scale of its first step

  std::int64_t end() const { return start + steps; }  // so many steps does the run have

  friend bool operator==(const Decay&, const Decay&) = default;
};

// The decay over the last decay_fraction of `total` steps.
Decay DecayOf(const OptimizerConfig& config, std::int64_t total);
// The decay of the run in which it starts at this step: decay_fraction / (1 - decay_fraction) times the steps
// before it. decay_fraction is above 0 and below 1.
Decay DecayFrom(const OptimizerConfig& config, std::int64_t start);
// The rest of a decay at one of its steps, for a run that ends after `end` steps: from the scale that this
// step has in any case it falls to the same last one, faster or slower.
Decay RestOf(const OptimizerConfig& config, const Decay& decay, std::int64_t step, std::int64_t end);

// Behind this step the learning rate falls for good. Up to it a run of more steps is the same one, bit for
// bit, and can go on from there. Nothing where it never falls, or from the first step on, as one_cycle does:
// that is another run with each number of steps.
std::optional<std::int64_t> StepBeforeFall(const OptimizerConfig& config, const Decay& decay);

// The learning rate's way, of 1, at the step after `done` of so many: up in a warm-up, whose first step
// already learns and whose last has 1; down in a decay, whose first step has `from` and which reaches `to` at
// the step after its last one.
double Rise(std::int64_t done, std::int64_t steps);
double Fall(std::int64_t done, std::int64_t steps, double to, double from = 1);

// What the learning rate is multiplied with at a step. "wsd", warmup-stable-decay: rises linearly over
// warmup_steps (the first step already learns), stays at 1, and falls linearly over the decay, towards
// final_scale at the step after its last one. "one_cycle" over all steps, those up to the decay's end: as
// PyTorch's OneCycleLR with cosines, its divisors 25 and 1e4 and a constant beta1.
double ScheduleScale(const OptimizerConfig& config, const Decay& decay, std::int64_t step);

}  // namespace medley
