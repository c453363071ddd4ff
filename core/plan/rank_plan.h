#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <medley/plan/plan.h>

namespace medley {

// Rows in a config are those of a draw, whatever number of processes (ranks) divides them; bytes are those of
// one process. So each plans for its part, and the plan that holds for the run has whole draws.

// What a process computes of the draws that are asked for, at most: where a step is one draw, its even part,
// rounded up; where it is several, all of a draw, as most stay whole. Rows that are open (0) stay so; with
// several draws a step one process may hold the rows of a draw that all fill together. Of a
// process alone the requests are as they were.
std::vector<TaskRequest> PartsOf(std::vector<TaskRequest> asked, std::int64_t ranks,
                                 std::int64_t draws_per_step);
// What all processes must hold alike of a draw, by its form: its rows, and what one of them costs when they
// are divided.
struct PlannedDraw {
  std::int64_t rows = 0;
  std::int64_t operations = 0;  // floating-point, of a row; 0: not known

  auto Fields() { return std::tie(rows, operations); }
};
using PlannedDraws = std::map<FormId, PlannedDraw>;
PlannedDraws DrawsOf(const Plan& plan);
// Puts others in their place: rows are at most the plan's, and forms without any leave it.
void TakeDraws(const PlannedDraws& draws, Plan& plan);

// A plan of parts as one of whole draws. `asked`: what PartsOf was given. Rows that were open are then those
// of all processes together.
Plan OfWholeDraws(Plan parts, const std::vector<TaskRequest>& asked, std::int64_t ranks);

}  // namespace medley
