#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <medley/curriculum/form.h>
#include <medley/plugin/task_info.h>
#include <medley/step/execution.h>

namespace medley {

// A draw that found no room.
struct CrowdedDraw {
  Form form{};
  std::int64_t rows = 0;
  Execution execution{};
  VariantInfo variant{};
  std::int64_t draws_per_step = 1, draws_ahead = 0;  // whose rows wait
  std::int64_t budget = 0;                           // bytes; 0: no limit
  std::int64_t machine = 0;                          // bytes that the device has; 0: not known
};

// A draw of fewer rows, in another way, or beside fewer draws that wait.
struct CutDraw {
  Execution execution;
  std::int64_t rows = 0;
  std::int64_t waiting = 1;  // draws whose rows are there, itself among them
};
using TryDraw = std::function<bool(const CutDraw&)>;

// What of the run's config to change, what costs the least first, and nothing that does not help: "It fits
// with tasks.zoom.micro_rows=4". `fits` tries, many times, one after the other; what it throws passes.
// Where nothing helps the words say so.
std::string MemoryAdvice(const CrowdedDraw& draw, const TryDraw& fits);

}  // namespace medley
