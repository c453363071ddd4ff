#include "tools/bench/memory_bench.h"

#include <c10/util/Exception.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include <medley/memory/cpu_allocator.h>
#include <medley/memory/meter.h>
#include <medley/model/device.h>
#include <medley/step/abandon.h>
#include <medley/step/sample_rows.h>
#include <medley/train/admission.h>

#include "tools/bench/bench.h"

namespace medley::bench {
namespace {

RunInputs Inputs(const Asked& asked, const std::string& budget) {
  RunInputs inputs = CheckInputs(asked.config, asked.overrides);
  RunConfig& config = inputs.checked.run;
  config.threads = 1;
  if (config.budget.empty() && config.device == "cpu") config.budget = budget;
  return inputs;
}

RunInputs AutoInputs(const Asked& asked) {
  RunInputs inputs = Inputs(asked, kSmallBudget);
  for (const std::string& task : inputs.checked.curriculum.All()) inputs.checked.run.tasks[task].rows = 0;
  return inputs;
}

}  // namespace

std::unique_ptr<Run> MakeRun(const Asked& asked, const std::string& budget) {
  return BuildRun(Inputs(asked, budget), Purpose::kTrain);
}

AutoRun::AutoRun(const Asked& asked)
    : run_(BuildRun(AutoInputs(asked), Purpose::kTrain)),
      in_force_(ConfiguredPlan(*run_)),
      console_(stderr),
      planner_(FormMeasurer::PartsOf(*run_), run_->curriculum, RunPlanner::SettingOf(*run_), console_) {
  const Stopwatch watch(run_->device);
  planner_.PlanRun(run_->NamedForms());
  planning_seconds_ = watch.seconds();
  planner_.Apply(in_force_, *run_->mixer);
}

AutoRun& Session::planned() {
  if (planned_ == nullptr) planned_ = std::make_unique<AutoRun>(asked_);
  return *planned_;
}

Stopwatch::Stopwatch(at::Device device) : device_(device), start_(Now()) {}

double Stopwatch::seconds() const { return Now() - start_; }

double Stopwatch::Now() const {
  if (device_.is_cpu()) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  Synchronize(device_);
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

MeasuredStep MeasureStep(Run& run, LoadedTask& task, const Batch& rows, const Execution& execution,
                         StepObserver& observer) {
  MeasuredStep step{.floor = ReadMemory(run.device).now};
  ResetPeak(run.device);
  const Stopwatch watch(run.device);
  try {
    run.executor->Run({{.task = &task, .batch = &rows, .execution = &execution}}, observer);
  } catch (const c10::OutOfMemoryError&) {
    step.overflowed = true;
  }
  if (step.overflowed) AbandonStep(*run.model, run.device);
  step.seconds = watch.seconds();
  step.peak = ReadMemory(run.device).peak;
  ClearGradients(*run.model);
  return step;
}

MeasuredStep MeasureStep(Run& run, LoadedTask& task, const Batch& rows, const Execution& execution) {
  StepObserver nobody;
  return MeasureStep(run, task, rows, execution, nobody);
}

Batch SampleRows(const Run& run, const LoadedTask& task, std::int64_t begin, std::int64_t rows,
                 bool longest) {
  const std::uint64_t seed = TaskSeed(static_cast<std::uint64_t>(run.config.seed), task.info().name);
  return medley::SampleRows(task, {.seed = seed, .begin = begin, .count = rows, .longest = longest},
                            run.device);
}

LimitedCpu::LimitedCpu(at::Device device, std::int64_t bytes) : before_(CpuBudget()) {
  if (device.is_cpu()) SetCpuBudget(bytes);
}

LimitedCpu::~LimitedCpu() { SetCpuBudget(before_); }

void Say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

std::string Percent(double fraction, int decimals) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %%", decimals, 100 * fraction);
  return text;
}

std::string Ratio(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", ratio);
  return text;
}

std::string Megabytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

}  // namespace medley::bench
