// What a thousand steps leave behind: bytes in use between steps, beyond those after every task's first. Real
// steps of a mix of tasks, in micro-batches, with updates; then the same where two of five are forward only,
// with a graph that nobody goes back through.
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>
#include <vector>

#include <medley/memory/cpu_allocator.h>
#include <medley/memory/meter.h>
#include <medley/report/table.h>
#include <medley/step/passes/pass_runner.h>

#include "tools/bench/memory_bench.h"

namespace medley::bench {
namespace {

constexpr std::int64_t kSteps = 1000, kRows = 3, kMicroRows = 2;

// One of each kind: one pass, two pictures, five passes, carries.
std::vector<std::string> MixOf(const Run& run) {
  const std::set<std::string> wanted{"control", "arrow_to_gold", "position_qa", "mem_canvas"};
  std::vector<std::string> mix;
  for (const std::string& task : run.NamedTasks()) {
    if (wanted.count(task) > 0) mix.push_back(task);
  }
  return mix.empty() ? run.NamedTasks() : mix;
}

void Train(Run& run, LoadedTask& task, const Batch& rows) {
  Execution execution = run.Configured(run.forms.Own(task.info().name));
  execution.micro_rows = kMicroRows;
  run.executor->Run({{.task = &task, .batch = &rows, .execution = &execution}});
  run.optimizer->Step(0);
}

Sums ForwardOnly(Run& run, LoadedTask& task, const Batch& rows) {
  const at::AutoGradMode with_gradients(true);
  MicroBatch micro({.task = task, .model = *run.model, .device = run.device}, rows);
  Sums all;
  for (const PassInfo& pass : task.variant().passes) all.merge(micro.RunPass(pass));
  return all;
}

std::int64_t InUse(at::Device device) {
  return ReadMemory(device).now + (device.is_cpu() ? ReadCpuMemory().data_now : 0);
}

struct Growth {
  std::int64_t at_the_end = 0, largest = 0;  // bytes
};

// `keep` plants a leak: the losses of the steps that are forward only are not dropped.
Growth Grow(Run& run, std::int64_t steps, std::int64_t forward_only_of_5, std::vector<Sums>* keep) {
  const std::vector<std::string> mix = MixOf(run);
  for (const std::string& name : mix) {
    LoadedTask& task = run.host->Get(run.forms.Own(name));
    Train(run, task, SampleRows(run, task, 0, kRows, false));
  }
  const std::int64_t floor = InUse(run.device);
  Growth growth;
  for (std::int64_t i = 0; i < steps; ++i) {
    LoadedTask& task = run.host->Get(run.forms.Own(mix[static_cast<std::size_t>(i) % mix.size()]));
    {
      const Batch rows = SampleRows(run, task, i * kRows, kRows, false);
      if (i % 5 >= forward_only_of_5) {
        Train(run, task, rows);
      } else {
        Sums sums = ForwardOnly(run, task, rows);
        if (keep != nullptr) keep->push_back(std::move(sums));
      }
    }
    growth.at_the_end = InUse(run.device) - floor;
    growth.largest = std::max(growth.largest, growth.at_the_end);
  }
  return growth;
}

}  // namespace

void BenchFloor(Session& session) {
  const auto run = MakeRun(session.asked());
  std::vector<Sums> kept;
  Table table({"steps", "forward only", "left at the end", "most between two steps"});
  const auto add = [&](const std::string& what, std::int64_t steps, const Growth& growth) {
    table.Add({std::to_string(steps), what, std::to_string(growth.at_the_end) + " B",
               std::to_string(growth.largest) + " B"});
  };
  add("none", kSteps, Grow(*run, kSteps, 0, nullptr));
  add("40 %", kSteps, Grow(*run, kSteps, 2, nullptr));
  add("40 %, losses kept (control)", 50, Grow(*run, 50, 2, &kept));
  Say(table.ToText());
  Say("goal: 0 B, and not in the control");
}

}  // namespace medley::bench
