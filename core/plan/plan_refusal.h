#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/plan/plan.h>
#include <medley/plan/task_plan.h>

namespace medley {

// A task for which the planner found nothing. The references are good while it is being planned.
struct Refused {
  const TaskRequest& request;
  const TaskPlanner& planner;
  std::int64_t tables = 0;  // bytes of its own, beside the floor
};

// What would do for all tasks as they are asked for.
struct Remedies {
  std::string fewer_waiting;  // an override with which fewer rows wait; "" where that does not do
  std::int64_t budget = 0;    // the smallest that would; 0 where none would
  std::int64_t machine = 0;   // bytes that the device has; 0: not known
  // Overrides that change what a step learns from; "" where they do not do.
  std::string fewer_draws{}, fewer_rows{};
};

// Words the refusal of at least one task; it throws nothing itself. `plan` holds what the others get.
DoesNotFit MakeRefusal(const std::vector<Refused>& refused, const Plan& plan, const Remedies& remedies);

// An array: of what does not fit, what is missing, and the change that helps. Of an error that is no
// DoesNotFit the words alone.
nlohmann::ordered_json RefusalsJson(const Error& refused);

}  // namespace medley
