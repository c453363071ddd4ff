#pragma once

#include <cstdint>
#include <vector>

#include <medley/memory/plan.h>
#include <medley/memory/task_plan.h>

namespace medley {

// A task for which the planner found nothing.
struct Refused {
  const TaskRequest& request;
  const TaskPlanner& planner;
};

// Throws DoesNotFit. `plan` holds what the others get; `budget` is the smallest that would do for all tasks
// as they are asked for, 0 where none would.
[[noreturn]] void Refuse(const std::vector<Refused>& refused, const Plan& plan, std::int64_t budget);

}  // namespace medley
