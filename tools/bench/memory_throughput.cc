// Rows a second where every task has the rows and the mode that fill the budget, beside one batch size for
// all: the largest that fits the heaviest task with all its graphs at once. Same budget, as many rows of each
// task, the optimizer's update included; the two in turn.
#include <algorithm>
#include <vector>

#include <medley/plan/plan_request.h>
#include <medley/report/table.h>

#include "tools/bench/bench.h"
#include "tools/bench/memory_bench.h"

namespace medley::bench {
namespace {

constexpr int kPairs = 5;

// The plan where every task keeps all graphs.
Plan JointPlan(AutoRun& planned) {
  Run& run = planned.run();
  std::vector<TaskRequest> requests;
  for (const std::string& task : run.NamedTasks()) {
    const Form form = run.forms.Own(task);
    requests.push_back(RequestOf(form, run.host->Variant(form)));
    if (requests.back().passes > 1) requests.back().mode = Mode::kJoint;  // one pass is joint in any mode
  }
  return MakePlan(planned.profile(), requests, PlanSettingOf(run.config, run.device, planned.plan().budget));
}

// Milliseconds a row of a step and its update.
double PerRow(Run& run, LoadedTask& task, const Batch& rows, const Execution& execution) {
  const Stopwatch watch(run.device);
  run.executor->Run({{.task = &task, .batch = &rows, .execution = &execution}});
  run.optimizer->Step(0);
  return 1000 * watch.seconds() / static_cast<double>(rows.size());
}

struct PerRowTimes {
  double planned = 0, uniform = 0;
};

PerRowTimes Compare(AutoRun& auto_run, const PlannedTask& entry, std::int64_t uniform_rows) {
  Run& run = auto_run.run();
  LoadedTask& task = auto_run.task(entry.form);
  const Batch rows = SampleRows(run, task, 0, entry.rows, false);
  const Batch few = SampleRows(run, task, 0, uniform_rows, false);
  const Execution& execution = auto_run.execution(entry.form);
  Execution joint = execution;
  joint.way.mode = Mode::kJoint;
  std::vector<double> planned, uniform;
  for (int i = -1; i < kPairs; ++i) {  // one to warm up
    const double with_plan = PerRow(run, task, rows, execution), without = PerRow(run, task, few, joint);
    if (i < 0) continue;
    planned.push_back(with_plan);
    uniform.push_back(without);
  }
  return {.planned = Median(planned), .uniform = Median(uniform)};
}

}  // namespace

void BenchThroughput(Session& session) {
  AutoRun& planned = session.planned();
  const Plan joint = JointPlan(planned);
  const PlannedTask& heaviest =
      *std::min_element(joint.entries.begin(), joint.entries.end(),
                        [](const PlannedTask& a, const PlannedTask& b) { return a.rows < b.rows; });
  Table table({"task", "planned rows", "over uniform", "ms a row, planned", "uniform", "speed"});
  PerRowTimes sum;
  std::int64_t most = 0;
  for (const PlannedTask& entry : planned.plan().entries) {
    const PerRowTimes times = Compare(planned, entry, heaviest.rows);
    sum.planned += times.planned;
    sum.uniform += times.uniform;
    most = std::max(most, entry.rows);
    table.Add({entry.form.text(), std::to_string(entry.rows),
               Ratio(static_cast<double>(entry.rows) / static_cast<double>(heaviest.rows)),
               FormatNumber(times.planned), FormatNumber(times.uniform),
               Ratio(times.uniform / times.planned)});
  }
  const auto tasks = static_cast<double>(planned.plan().entries.size());
  Say(table.ToText());
  Say("uniform: " + std::to_string(heaviest.rows) + " rows, those of " + heaviest.form.text() +
      " in joint mode; the lightest task is planned with " +
      Ratio(static_cast<double>(most) / static_cast<double>(heaviest.rows)) + " times as many");
  Say("rows a second, as many of each task: planned " + FormatNumber(1000 * tasks / sum.planned) +
      ", uniform " + FormatNumber(1000 * tasks / sum.uniform) + ", ratio " +
      Ratio(sum.uniform / sum.planned) + "   (goal on a GPU: at least 1.8)");
}

}  // namespace medley::bench
