#pragma once

#include <cstdint>

namespace medley {

// The phases of a run that predicts weights, see docs/phases.md.
struct PhasesConfig {
  std::int64_t warmup_steps = 100;
  std::int64_t full_steps = 20;
  std::int64_t correct_steps = 5;
  double allowance = 0.03;  // of all row-forwards, for predictions that earn nothing
};

template <typename Visitor>
void Fields(Visitor& visit, PhasesConfig& c) {
  visit(c.warmup_steps,
        {.name = "warmup_steps", .help = "The run's first steps, before anything is predicted", .low = 0});
  visit(c.full_steps,
        {.name = "full_steps", .help = "Steps between two predictions, at least", .low = 5, .high = 1 << 20});
  visit(c.correct_steps,
        {.name = "correct_steps", .help = "Steps that are watched after a jump", .low = 1, .high = 1 << 20});
  visit(c.allowance,
        {.name = "allowance",
         .help = "What predictions may cost beyond what they earned: a part of all row-forwards, "
                 "of which a trained row has three",
         .low = 0,
         .high = 1,
         .above_low = true,
         .below_high = true});
}

}  // namespace medley
