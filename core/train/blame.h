#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/memory/budget.h>
#include <medley/plan/plan_in_force.h>
#include <medley/report/console.h>
#include <medley/train/failure.h>
#include <medley/train/memory_advice.h>
#include <medley/train/memory_watch.h>
#include <medley/train/prefetcher.h>
#include <medley/train/stages.h>
#include <medley/train/step_attempt.h>

namespace medley {

// What a failed step is that cost a task: the run goes on without it.
struct DroppedTask {};

// Finds out which task a failure is the fault of, and what follows from that: the task is dropped where the
// run's on_task_error asks for it, or the run must end, and what to change is said. On the trainer's thread.
class Blame {
 public:
  // References outlive it.
  struct Setting {
    const RunConfig& config;
    bool alone = true;  // one process trains the run
    at::Device device;
    const Budget& budget;
    TaskHost& host;
    StepExecutor& executor;
    StepAttempt& attempt;
    Stages& stages;
    const PlanInForce& plan;
    Prefetcher& prefetcher;
    MemoryWatch& memory;
    Console& console;
  };
  explicit Blame(const Setting& setting) : setting_(setting) {}

  // A step failed, all tries of it. A Failure: the run must end. May run parts of the step to find out; the
  // generators are then as before it. A device that fails meanwhile passes, as an Error or a
  // c10::AcceleratorError.
  using Verdict = std::variant<DroppedTask, InterruptedStep, Failure>;
  Verdict Judge(const std::vector<Draw>& draws, Failure failure);
  // This task failed; nobody is to blame for "". Nothing where it was dropped, else why the run must end.
  std::optional<Failure> TaskFailed(const std::string& task, const Failure& failure);

 private:
  bool Drops() const;
  static std::string TaskOf(const Failure& failure, const std::vector<Draw>& draws);
  std::string FindCulprit(const std::vector<Draw>& draws);
  void AddMemoryHint(Failure& failure, const std::string& culprit, const std::vector<Draw>& draws);
  std::string AdviceFor(const std::vector<Draw>& draws);
  std::string AdviceFor(const Draw& draw);
  bool Fits(const std::vector<Draw>& draws);
  bool Fits(const Draw& draw, const CutDraw& cut);

  Setting setting_;
};

}  // namespace medley
