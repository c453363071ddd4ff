#include <medley/plan/peak_prediction.h>

#include <algorithm>
#include <limits>

#include <medley/plan/task_plan.h>

namespace medley {

std::optional<PeakPrediction> PredictPeak(const Plan& plan, const Profile& profile,
                                          const PlanSetting& setting, const FormId& form,
                                          std::int64_t micro_rows) {
  const PlannedTask* entry = plan.Find(form);
  const auto measured = profile.tasks.find(form);
  if (entry == nullptr || measured == profile.tasks.end()) return std::nullopt;
  const ModeProfile* mode = measured->second.Find(entry->way);
  if (mode == nullptr) return std::nullopt;
  TaskProfile only =
      measured->second;  // with one mode and micro-rows that are given nothing is left to choose
  only.modes = {*mode};
  const TaskRequest request{.passes = entry->passes, .rows = entry->rows, .micro_rows = micro_rows};
  const std::int64_t others = std::max<std::int64_t>(0, profile.gradients - only.gradients);
  const auto choice =
      TaskPlanner(only, request, setting, others).Choose(std::numeric_limits<std::int64_t>::max() / 2);
  if (!choice) return std::nullopt;
  return PeakPrediction{.peak = plan.floor_bytes() + entry->tables + choice->bytes, .margin = choice->margin};
}

}  // namespace medley
