#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/cluster/rank_place.h>
#include <medley/curriculum/mixer.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plugin/task_host.h>

namespace medley {

// A draw and what a row of it costs, in a unit that all draws of a step share; at least 1.
struct CostedDraw {
  Draw draw;
  std::int64_t cost_per_row = 1;
};

// Who computes what: for each of `ranks` processes the pieces of the step's draws that are its own. Together
// they are the draws' rows, each once; the pieces of a draw lie one behind the other, and a process has at
// most one of each. A process may have none. No process has more than its even part of the cost and one row
// more. A function of the arguments alone, in whole numbers: every process finds the same.
std::vector<std::vector<Draw>> AssignRows(const std::vector<CostedDraw>& costed, std::int64_t ranks);

// The same of what is not divided: for each piece of work the rank whose it is. The dearest goes first, to
// who has the least so far, of those the lowest. Costs are at least 1.
std::vector<std::int64_t> AssignWhole(const std::vector<std::int64_t>& costs, std::int64_t ranks);

// Who of the processes of a run takes which rows and tasks, by what they cost: each finds the same by itself.
// On the trainer's thread.
class WorkDivision {
 public:
  // Keeps references. `place`: of this process.
  WorkDivision(TaskHost& host, const PlanInForce& plan, const RankPlace& place, std::int64_t draws_per_step)
      : host_(host), plan_(plan), place_(place), draws_per_step_(draws_per_step) {}

  // What this process computes of the draws of a step, or of several that come one after the other.
  std::vector<Draw> OwnPart(const std::vector<Draw>& draws) const;
  // Which of these tasks this process evaluates, by what as many rows of each cost.
  std::vector<std::string> OwnTasks(const std::vector<std::string>& tasks) const;

 private:
  std::vector<std::int64_t> RowCosts(const std::vector<std::string>& tasks) const;

  TaskHost& host_;
  const PlanInForce& plan_;
  const RankPlace& place_;
  std::int64_t draws_per_step_;
};

}  // namespace medley
