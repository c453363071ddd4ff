#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/plan/plan.h>
#include <medley/plugin/task_host.h>
#include <medley/step/execution.h>

namespace medley {

// What a form's settings ask of the planner.
TaskRequest RequestOf(const Form& form, const VariantInfo& variant);
// `budget` in bytes. What the device has (machine) and whether tables are dropped is left to the caller.
PlanSetting PlanSettingOf(const RunConfig& config, at::Device device, std::int64_t budget);
// All that a plan follows from beside measured bytes: while it is the same, the plan holds. `budget`: as it
// was asked for; `key`: the run's profile key.
nlohmann::ordered_json AskedJson(const RunConfig& config, const TaskHost& host, at::Device device,
                                 const std::vector<TaskRequest>& requests, const std::string& budget,
                                 const nlohmann::ordered_json& key);

// All legal ways to run the task; with one pass joint is sequential.
std::vector<Way> AllWays(const TaskRequest& request, const VariantInfo& variant);
// Those with the fewest forwards: no other is taken where something fits in one of them.
std::vector<Way> CheapestWays(const TaskRequest& request, const VariantInfo& variant);

}  // namespace medley
