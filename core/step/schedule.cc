#include <medley/step/schedule.h>

#include <algorithm>
#include <cmath>

namespace medley {

double ScheduleScale(const OptimizerConfig& config, std::int64_t step, std::int64_t total) {
  const double rise = config.warmup_steps > 0
                          ? static_cast<double>(step + 1) / static_cast<double>(config.warmup_steps)
                          : 1.0;
  const auto decay_steps =
      static_cast<std::int64_t>(std::llround(config.decay_fraction * static_cast<double>(total)));
  const std::int64_t into_decay = step - (total - decay_steps);
  double fall = 1.0;
  if (decay_steps > 0 && into_decay > 0) {
    const double progress = std::min(1.0, static_cast<double>(into_decay) / static_cast<double>(decay_steps));
    fall = 1.0 + (config.final_scale - 1.0) * progress;
  }
  return std::min(1.0, rise) * fall;
}

}  // namespace medley
