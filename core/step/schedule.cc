#include <medley/step/schedule.h>

#include <algorithm>
#include <cmath>

namespace medley {

Decay DecayOf(const OptimizerConfig& config, std::int64_t total) {
  const auto steps =
      static_cast<std::int64_t>(std::llround(config.decay_fraction * static_cast<double>(total)));
  return {.start = total - steps, .steps = steps};
}

Decay DecayFrom(const OptimizerConfig& config, std::int64_t start) {
  const double part = config.decay_fraction / (1 - config.decay_fraction);
  return {.start = start,
          .steps = static_cast<std::int64_t>(std::llround(part * static_cast<double>(start)))};
}

double ScheduleScale(const OptimizerConfig& config, const Decay& decay, std::int64_t step) {
  const double rise = config.warmup_steps > 0
                          ? static_cast<double>(step + 1) / static_cast<double>(config.warmup_steps)
                          : 1.0;
  const std::int64_t into_decay = step - decay.start;
  double fall = 1.0;
  if (decay.steps > 0 && into_decay > 0) {
    const double progress = std::min(1.0, static_cast<double>(into_decay) / static_cast<double>(decay.steps));
    fall = 1.0 + (config.final_scale - 1.0) * progress;
  }
  return std::min(1.0, rise) * fall;
}

}  // namespace medley
