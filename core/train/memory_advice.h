#pragma once

#include <cstdint>
#include <string>

#include <medley/plugin/task_info.h>
#include <medley/step/execution.h>

namespace medley {

// A draw that found no room.
struct CrowdedDraw {
  std::string task;
  std::int64_t rows = 0;
  Execution execution;
  VariantInfo variant;
  std::int64_t budget = 0;  // bytes; 0: no limit
};

// What of the run's config to change, the cheapest first, without what is so already: "Lower
// tasks.zoom.micro_rows (now 4)".
std::string MemoryAdvice(const CrowdedDraw& draw);

}  // namespace medley
