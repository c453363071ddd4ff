#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/page/curve.h>

namespace medley {

// What was delivered beside what was asked, at some steps of a run: {"steps": [step, ...], "delivered":
// {task: [share, ...]}, "asked": likewise}. Delivered is, after that step, the task's part of all that was
// drawn since the stage began; asked, of the same, what it should have had by the shares that held while each
// part of it was drawn (Mixer::Share's asked_so_far). Null before the first draw, and where nothing was
// asked. `amounts`: of each task what was drawn up to and with a step, whose last point says everything;
// `marks`: {"step", "kind", "shares"} by step, of which those with shares count; a change after step n is in
// force from n + 1 on, or a "ramp" leads to it, {"from": shares, "until": the step that ends it, which may
// be to come, "draws", "shape"}, each draw having its part of the way. The steps: evenly up to the last, and
// each end of a stage.
nlohmann::ordered_json MixtureCurves(const std::map<std::string, Curve>& amounts,
                                     const std::vector<nlohmann::ordered_json>& marks,
                                     std::int64_t last_step);

// The shares that are asked now, of which 0 is left out, and what was delivered since they are: for comparing
// the two. An edit moves what is asked at once, and what was delivered before it was asked otherwise. While a
// ramp leads to them asked is, like delivered, of all that was drawn since it began.
struct NewestShares {
  std::int64_t since = 0;  // the last step before they held
  std::map<std::string, double> asked;
  std::map<std::string, double> delivered;  // by task that was ever drawn; empty before the first draw
};
// Nothing where no mark says what was asked.
std::optional<NewestShares> SharesSinceTheirChange(const std::map<std::string, Curve>& amounts,
                                                   const std::vector<nlohmann::ordered_json>& marks);

}  // namespace medley
