#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/plan/plan.h>
#include <medley/run/run.h>

namespace medley {

// What a run's config asks of the planner.
TaskRequest RequestOf(const Run& run, const std::string& task);
PlanSetting PlanSettingOf(const Run& run, std::int64_t budget);
// All that a plan follows from beside measured bytes: while it is the same, the plan holds.
nlohmann::ordered_json AskedJson(const Run& run, const std::vector<TaskRequest>& requests,
                                 const std::string& budget, const nlohmann::ordered_json& key);

// A mode, and every how many layers are recomputed.
using Way = std::pair<Mode, int>;
// All legal ways to run the task; with one pass joint is sequential.
std::vector<Way> AllWays(const TaskRequest& request, const VariantInfo& variant);
// Those with the least work: no other is taken where something fits in one of them.
std::vector<Way> CheapestWays(const TaskRequest& request, const VariantInfo& variant);
// Those that a plan cannot do without: fixed rows mostly fit in the preferred mode, and then no other is
// asked.
std::vector<Way> FirstWays(const TaskRequest& request, const VariantInfo& variant);

ExecutionPlan ExecutionOf(const Run& run, const std::string& task, const Way& way);
ExecutionPlan ExecutionOf(const Run& run, const PlanEntry& entry);

}  // namespace medley
