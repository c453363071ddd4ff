#include "tools/medley/estimate_check.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include <medley/base/bytes.h>
#include <medley/base/random.h>
#include <medley/memory/meter.h>
#include <medley/plan/probe_rows.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr double kWarmingShare = 0.15;  // of the time, about

// The peak of one real step with rows of the largest lengths: the trainer's bytes, and on the CPU the rows.
std::int64_t MeasuredPeak(const Run& run, LoadedTask& task, const Execution& plan, std::int64_t rows) {
  const ProbeRows probe(task, TaskSeed(static_cast<std::uint64_t>(run.config.seed), task.info().name));
  const std::int64_t micro = RowsAtOnce(plan.micro_rows, rows);
  std::int64_t peak = 0;
  for (std::int64_t kind = 0; kind < probe.kinds(); ++kind) {
    const std::int64_t others = ReadMemory(run.device).data;
    const Batch batch = probe.Make(kind, micro, rows / micro);
    ResetPeak(run.device);
    run.executor->Run({{.task = &task, .batch = &batch, .execution = &plan}});
    run.optimizer->Step(0);
    const MemoryReading reading = ReadMemory(run.device);
    peak = std::max(peak, reading.peak + reading.data - others);
  }
  return peak;
}

// As they are in a run that goes on: every task is loaded, has its tables, and is known to keep its contract.
void WarmUp(const Run& run, const std::vector<EstimatedTask>& tasks,
            const std::function<void(const std::string& task, double done)>& tell) {
  double done = 0;
  for (const EstimatedTask& estimated : tasks) {
    tell(estimated.request.form.id.text(), done++);
    LoadedTask& task = run.host->Get(estimated.request.form);
    const ProbeRows probe(task, TaskSeed(static_cast<std::uint64_t>(run.config.seed), task.info().name));
    const Batch batch = probe.Make(0, 1);
    const Execution execution = run.Configured(estimated.request.form);
    run.executor->Run({{.task = &task, .batch = &batch, .execution = &execution}});
    run.optimizer->Step(0);
  }
}

}  // namespace

std::vector<CheckedStep> CheckSteps(const Run& run, const Estimate& estimate, std::int64_t estimates_own,
                                    const Telling& tell) {
  std::vector<CheckedStep> steps;
  const auto count = static_cast<double>(estimate.tasks().size());
  const auto warming = [&](const std::string& task, double done) {
    tell("warming up " + task, kWarmingShare * done / count, 1);
  };
  WarmUp(run, estimate.tasks(), warming);
  for (const EstimatedTask& task : estimate.tasks()) {
    const Form& form = task.request.form;
    const double done = static_cast<double>(steps.size()) / count;
    tell("running a step of " + form.id.text(), kWarmingShare + (1 - kWarmingShare) * done, 1);
    const Execution plan = run.Configured(form);
    // Whole forwards of so many rows.
    std::int64_t rows = std::max<std::int64_t>(task.request.rows, 1);
    rows -= rows % RowsAtOnce(plan.micro_rows, rows);
    const std::int64_t measured =
        MeasuredPeak(run, run.host->Get(form), plan, rows) - (run.device.is_cpu() ? estimates_own : 0);
    steps.push_back({form.id, rows, estimate.Peak(task, rows, plan.micro_rows), measured});
  }
  return steps;
}

std::string StepsTable(const std::vector<CheckedStep>& steps, const NamesOfForms& names,
                       const std::string& device) {
  Table table({"task", "rows", "estimated", "measured", "error"});
  for (const CheckedStep& step : steps) {
    char error[32];
    std::snprintf(error, sizeof error, "%+.1f %%",
                  100 * (static_cast<double>(step.estimated) / static_cast<double>(step.measured) - 1));
    table.Add({NameOf(step.form, names), std::to_string(step.rows), FormatBytes(step.estimated),
               FormatBytes(step.measured), error});
  }
  return "One step of each task, run on " + device + " beside the estimate for it:\n" + table.ToText();
}

ordered_json ToJson(const std::vector<CheckedStep>& steps) {
  ordered_json json = ordered_json::array();
  for (const CheckedStep& step : steps)
    json.push_back({{"task", step.form.text()},
                    {"rows", step.rows},
                    {"estimated", step.estimated},
                    {"measured", step.measured}});
  return json;
}

}  // namespace medley
