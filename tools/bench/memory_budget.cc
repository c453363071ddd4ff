// How much of the budget each task uses at the rows that "auto" gives it: peak of one step, and with it the
// rows of the draws that may wait.
#include <algorithm>
#include <vector>

#include <medley/memory/cpu_allocator.h>
#include <medley/plan/plan_request.h>
#include <medley/report/table.h>

#include "tools/bench/memory_bench.h"

namespace medley::bench {
namespace {

struct Extremes {
  double least = 2, most = 0;
  void Add(double share) {
    least = std::min(least, share);
    most = std::max(most, share);
  }
  std::string Words() const {
    return "least " + Percent(least) + ", largest over smallest " + Ratio(most / least);
  }
};

// The queue of rows as full as it can be beside one draw that runs.
std::vector<Batch> FullQueue(AutoRun& planned) {
  const Plan& plan = planned.plan();
  const auto bytes = [&](const PlannedTask& entry) {
    return entry.rows * planned.profile().tasks.at(entry.form).batch_per_row;
  };
  const PlannedTask& largest =
      *std::max_element(plan.entries.begin(), plan.entries.end(),
                        [&](const PlannedTask& a, const PlannedTask& b) { return bytes(a) < bytes(b); });
  Run& run = planned.run();
  const std::int64_t waiting = PlanSettingOf(run.config, run.device, plan.budget).waiting_draws;
  std::vector<Batch> queue;
  for (std::int64_t i = 1; i < waiting; ++i)
    queue.push_back(SampleRows(run, planned.task(largest.form), i * largest.rows, largest.rows, false));
  return queue;
}

// Nothing overflows: the budget holds.
double ShareInUse(AutoRun& planned, const PlannedTask& entry, bool longest) {
  Run& run = planned.run();
  LoadedTask& task = planned.task(entry.form);
  const Batch rows = SampleRows(run, task, 0, entry.rows, longest);
  const LimitedCpu limited(run.device, planned.plan().budget);
  const MeasuredStep step = MeasureStep(run, task, rows, planned.execution(entry.form));
  if (step.overflowed) return 0;
  const std::int64_t waiting = run.device.is_cpu() ? ReadCpuMemory().data_now : 0;
  return static_cast<double>(step.peak + waiting) / static_cast<double>(planned.plan().budget);
}

}  // namespace

void BenchBudget(Session& session) {
  AutoRun& planned = session.planned();
  const Plan& plan = planned.plan();
  const auto budget = static_cast<double>(plan.budget);
  const std::vector<Batch> queue = FullQueue(planned);
  Extremes longest, drawn;
  Table table({"task", "passes", "mode", "rows", "one row is", "planned", "longest rows", "drawn rows"});
  for (const PlannedTask& entry : plan.entries) {
    const ModeProfile& mode = *planned.profile().tasks.at(entry.form).Find(entry.way);
    const PeakLines lines(mode.whole);
    const auto next_row = static_cast<double>(lines.At(entry.rows + 1) - lines.At(entry.rows));
    const double at_most = ShareInUse(planned, entry, true), usual = ShareInUse(planned, entry, false);
    longest.Add(at_most);
    drawn.Add(usual);
    table.Add({entry.form.text(), std::to_string(entry.passes), std::string(ModeName(entry.way.mode)),
               std::to_string(entry.rows), Percent(next_row / budget, 2), Percent(plan.ShareOfBudget(entry)),
               Percent(at_most), Percent(usual)});
  }
  Say(table.ToText());
  Say("budget " + Megabytes(plan.budget) + ", of it for rows that wait " +
      Percent(static_cast<double>(plan.data_bytes) / budget));
  Say("longest rows: " + longest.Words() + "   (goal: at least 95 %, at most 1.05)");
  Say("drawn rows:   " + drawn.Words());
}

}  // namespace medley::bench
