#include <medley/plan/rank_plan.h>

#include <algorithm>
#include <utility>

namespace medley {

std::vector<TaskRequest> PartsOf(std::vector<TaskRequest> asked, std::int64_t ranks,
                                 std::int64_t draws_per_step) {
  if (ranks == 1 || draws_per_step > 1) return asked;
  for (TaskRequest& request : asked) {
    request.rows = (request.rows + ranks - 1) / ranks;
    request.parts = ranks;
  }
  return asked;
}

Plan OfWholeDraws(Plan parts, const std::vector<TaskRequest>& asked, std::int64_t ranks) {
  parts.ranks = ranks;
  for (PlannedTask& entry : parts.entries) {
    const auto request =
        std::find_if(asked.begin(), asked.end(), [&](const auto& one) { return one.form.id == entry.form; });
    if (request == asked.end()) continue;
    entry.rows = request->rows > 0 ? request->rows : std::min(kMostDrawRows, ranks * entry.rows);
  }
  return parts;
}

}  // namespace medley
