#include <medley/step/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

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

Decay RestOf(const OptimizerConfig& config, const Decay& decay, std::int64_t step, std::int64_t end) {
  return {.start = step,
          .steps = end - step,
          .from = Fall(step - decay.start, decay.steps, config.final_scale, decay.from)};
}

std::optional<std::int64_t> StepBeforeFall(const OptimizerConfig& config, const Decay& decay) {
  const bool falls =
      config.schedule == "wsd" && config.final_scale < 1 && decay.steps > 1;  // the first has 1
  return falls && decay.start > 0 ? std::optional(decay.start) : std::nullopt;
}

double Rise(std::int64_t done, std::int64_t steps) {
  if (steps <= 0) return 1;
  return std::min(1.0, static_cast<double>(done + 1) / static_cast<double>(steps));
}

double Fall(std::int64_t done, std::int64_t steps, double to, double from) {
  if (steps <= 0 || done <= 0) return from;
  return from + (to - from) * std::min(1.0, static_cast<double>(done) / static_cast<double>(steps));
}

namespace {

// From one value to another along a cosine; `part` from 0 to 1.
double Cosine(double from, double to, double part) {
  return to + (from - to) / 2 * (std::cos(std::numbers::pi * part) + 1);
}

double OneCycle(double rise_fraction, std::int64_t total, std::int64_t step) {
  constexpr double kFirst = 1.0 / 25, kLast = kFirst / 1e4;
  const double top = rise_fraction * static_cast<double>(total) - 1;  // below 0: it falls from the start
  const double last = static_cast<double>(total - 1), at = std::min(static_cast<double>(step), last);
  if (at < top) return Cosine(kFirst, 1, at / top);
  return last > top ? Cosine(1, kLast, (at - top) / (last - top)) : 1;
}

}  // namespace

double ScheduleScale(const OptimizerConfig& config, const Decay& decay, std::int64_t step) {
  if (config.schedule == "one_cycle") return OneCycle(config.rise_fraction, decay.end(), step);
  return Rise(step, config.warmup_steps) *
         Fall(step - decay.start, decay.steps, config.final_scale, decay.from);
}

}  // namespace medley
