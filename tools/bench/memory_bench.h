#pragma once

// What the benches of memory share: a run whose tasks all have as many rows as fill the budget, and steps
// that are measured and leave nothing behind.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <medley/plan/plan_in_force.h>
#include <medley/plan/run_planner.h>
#include <medley/report/console.h>
#include <medley/run/run.h>
#include <medley/step/step_observer.h>

namespace medley::bench {

struct Asked {
  std::filesystem::path config;
  std::vector<std::string> overrides;
};

inline constexpr const char* kSmallBudget = "200MiB";

// The run of the config, on one thread; where it asks for no budget, with this one on the CPU.
std::unique_ptr<Run> MakeRun(const Asked& asked, const std::string& budget = kSmallBudget);

// A run and its plan with "rows": "auto" for every task.
class AutoRun {
 public:
  explicit AutoRun(const Asked& asked);

  Run& run() { return *run_; }
  LoadedTask& task(const FormId& form) { return run_->host->Get(run_->forms.At(form)); }
  // As the form was planned.
  const Execution& execution(const FormId& form) const { return in_force_.executions().at(form); }
  const Profile& profile() const { return planner_.profile(); }
  const Plan& plan() const { return planner_.plan(); }
  const Prober& prober() const { return planner_.prober(); }
  double planning_seconds() const { return planning_seconds_; }

 private:
  std::unique_ptr<Run> run_;
  PlanInForce in_force_;
  Console console_;
  RunPlanner planner_;
  double planning_seconds_ = 0;
};

// What a bench is given: the run that the benches share is planned when one first asks for it.
class Session {
 public:
  explicit Session(Asked asked) : asked_(std::move(asked)) {}
  const Asked& asked() const { return asked_; }
  AutoRun& planned();

 private:
  Asked asked_;
  std::unique_ptr<AutoRun> planned_;
};

// Seconds of the processor, so that what else runs on the machine does not count; with a GPU of the clock.
class Stopwatch {
 public:
  explicit Stopwatch(at::Device device);
  double seconds() const;

 private:
  double Now() const;
  at::Device device_;
  double start_;
};

struct MeasuredStep {
  std::int64_t floor = 0;  // bytes in use before
  std::int64_t peak = 0;   // and at most
  double seconds = 0;
  bool overflowed = false;
};
// The gradients are dropped.
MeasuredStep MeasureStep(Run& run, LoadedTask& task, const Batch& rows, const Execution& execution,
                         StepObserver& observer);
MeasuredStep MeasureStep(Run& run, LoadedTask& task, const Batch& rows, const Execution& execution);

// Rows of a task as the data threads sample them; `longest`: as long as the task's can be.
Batch SampleRows(const Run& run, const LoadedTask& task, std::int64_t begin, std::int64_t rows, bool longest);

// Holds the CPU's tensors to so many bytes.
class LimitedCpu {
 public:
  LimitedCpu(at::Device device, std::int64_t bytes);
  ~LimitedCpu();
  LimitedCpu(const LimitedCpu&) = delete;
  LimitedCpu& operator=(const LimitedCpu&) = delete;

 private:
  std::int64_t before_;
};

void Say(const std::string& text);
std::string Percent(double fraction, int decimals = 1);
std::string Ratio(double ratio);
std::string Megabytes(std::int64_t bytes);  // "12.3 MB"

// (a) Rows of a task of several passes over those of one pass.
void BenchPasses(Session& session);
// (b) How much of the budget each task uses.
void BenchBudget(Session& session);
// (c) What the plan costs, beside searches that run out of memory.
void BenchSearch(Session& session);
// (d) Predicted against measured peaks.
void BenchPrediction(Session& session);
// (e) Rows a second beside one batch size for all tasks.
void BenchThroughput(Session& session);
// (f) What a thousand steps leave behind.
void BenchFloor(Session& session);

}  // namespace medley::bench
