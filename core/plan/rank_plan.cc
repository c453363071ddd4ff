#include <medley/plan/rank_plan.h>

#include <algorithm>

namespace medley {
namespace {

void SetRows(std::int64_t rows, std::int64_t operations_of_a_row, PlannedTask& entry) {
  entry.rows = rows;
  entry.operations = operations_of_a_row * rows;
}

}  // namespace

std::vector<TaskRequest> PartsOf(std::vector<TaskRequest> asked, std::int64_t ranks,
                                 std::int64_t draws_per_step) {
  if (ranks == 1) return asked;
  for (TaskRequest& request : asked) {
    if (draws_per_step > 1) {
      if (request.rows == 0) request.whole = ranks;
      continue;
    }
    request.rows = (request.rows + ranks - 1) / ranks;
    request.parts = ranks;
  }
  return asked;
}

Plan OfWholeDraws(Plan parts, const std::vector<TaskRequest>& asked, std::int64_t ranks) {
  parts.ranks = ranks;
  if (ranks == 1) return parts;
  for (PlannedTask& entry : parts.entries) {
    const auto request =
        std::ranges::find_if(asked, [&](const auto& one) { return one.form.id == entry.form; });
    if (request == asked.end()) continue;
    SetRows(request->rows > 0 ? request->rows : std::min(kMostDrawRows, ranks * entry.rows),
            OperationsOfARow(entry).value_or(0), entry);
  }
  return parts;
}

PlannedDraws DrawsOf(const Plan& plan) {
  PlannedDraws draws;
  for (const PlannedTask& entry : plan.entries)
    draws[entry.form] = {.rows = entry.rows, .operations = OperationsOfARow(entry).value_or(0)};
  return draws;
}

void TakeDraws(const PlannedDraws& draws, Plan& plan) {
  std::erase_if(plan.entries, [&](const PlannedTask& entry) { return draws.count(entry.form) == 0; });
  for (PlannedTask& entry : plan.entries) {
    const PlannedDraw& draw = draws.at(entry.form);
    SetRows(draw.rows, draw.operations, entry);
    entry.micro_rows = std::min(entry.micro_rows, entry.rows);
  }
}

}  // namespace medley
