#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/page/curve.h>

namespace medley {

// What was delivered beside what was asked, at some steps of a run: {"steps": [step, ...], "delivered":
// {task: [share, ...]}, "asked": likewise}. Delivered is, after that step, the task's part of all that was
// drawn since the stage began; null before its first draw. `amounts`: of each task what was drawn up to and
// with a step, whose last point says everything; `marks`: {"step", "kind", "shares"} by step, of which those
// with shares count; a change after step n is in force from n + 1 on. The steps: evenly up to the last, and
// each end of a stage.
nlohmann::ordered_json MixtureCurves(const std::map<std::string, Curve>& amounts,
                                     const std::vector<nlohmann::ordered_json>& marks,
                                     std::int64_t last_step);

}  // namespace medley
