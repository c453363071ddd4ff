#pragma once

#include <cstdint>

#include <medley/config/run_config.h>

namespace medley {

// Warmup-stable-decay: what the learning rate is multiplied with at a step (0: the first) of a run of `total`
// steps. Rises linearly over warmup_steps (the first step already learns), stays at 1, and falls linearly
// over the last decay_fraction of the steps, towards final_scale at the step after the last one.
double ScheduleScale(const OptimizerConfig& config, std::int64_t step, std::int64_t total);

}  // namespace medley
