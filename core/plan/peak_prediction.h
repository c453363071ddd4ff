#pragma once

#include <cstdint>
#include <optional>

#include <medley/memory/guard.h>
#include <medley/plan/plan.h>

namespace medley {

// What a form's draws take in the mode of the plan and as many rows, but in other micro-batches. Nothing
// where the plan has no such form, or the profile no lines of that mode.
std::optional<PeakPrediction> PredictPeak(const Plan& plan, const Profile& profile,
                                          const PlanSetting& setting, const FormId& form,
                                          std::int64_t micro_rows);

}  // namespace medley
