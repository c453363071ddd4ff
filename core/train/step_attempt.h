#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <medley/curriculum/mixer.h>
#include <medley/model/device.h>
#include <medley/plan/plan_in_force.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>
#include <medley/step/step_executor.h>
#include <medley/train/failure.h>
#include <medley/train/memory_watch.h>
#include <medley/train/prefetcher.h>
#include <medley/train/step_agreement.h>
#include <medley/train/work_division.h>

namespace medley {

// What a step or an evaluation is that was asked to stop: given up, as if it had not begun.
struct InterruptedStep {};

// Computes a step's gradients. Memory that ran out costs smaller micro-batches of a task and another try. A
// step that failed leaves no trace but that: no gradient, no row that waits for it, and the generators as
// before it. A device that failed (c10::AcceleratorError, or an Error where it failed while the step was let
// go) passes: it answers nothing from then on. On the trainer's thread.
class StepAttempt {
 public:
  // References outlive it.
  struct Setting {
    std::filesystem::path run;  // what people call it
    at::Device device;
    Model& model;
    StepExecutor& executor;
    PlanInForce& plan;
    Prefetcher& prefetcher;
    const WorkDivision& division;
    StepAgreement& agreement;
    Optimizer* reads_along;  // its norms with the sums; null: others add to the gradients first
    MemoryWatch& memory;
    RecordSinks& sinks;
    Console& console;
  };
  explicit StepAttempt(Setting setting) : setting_(std::move(setting)) {}

  // Computes those of step `step`, counted from 1, after MemoryWatch::BeginStep: of the rows that are this
  // process's, and adds those of the others. They are then in the parameters; where they are not taken, the
  // caller clears them. A failure is that of the last try, and the same in all processes.
  using Outcome = std::variant<StepLosses, InterruptedStep, Failure>;
  Outcome Gradients(std::int64_t step, const std::vector<Draw>& draws);
  // What it computed is not taken: the generators are as before it.
  void TakeBack() const;
  // What of the last call's draws this process computed.
  const std::vector<Draw>& computed() const { return computed_; }
  // What the last call overcame.
  const std::vector<Overflow>& overflows() const { return overflows_; }
  // The whole step fitted: tasks that were cut may grow back.
  void Fitted(std::int64_t step, const std::vector<Draw>& draws);

  // To find out why a step failed: some of its draws, once and as they are, in this process alone. Throws
  // what they throw.
  StepLosses RunDraws(const std::vector<Draw>& draws);
  // How such work failed, if it did; whatever it computed is gone then, the generators stay where it left
  // them. Throws Interrupted, also where the work was done but an interrupt was asked for.
  std::optional<Failure> FailureOf(const std::function<void()>& work) const;
  // "step 3"
  std::string Words() const { return "step " + std::to_string(step_); }

 private:
  const std::string& Running() const;
  std::optional<Failure> Checked(const StepLosses& losses) const;
  StepLosses Compute(const std::vector<Draw>& draws);
  void BeginWithTheStepsGenerators();
  std::optional<Failure> TryUntilItFits(const std::vector<Draw>& draws, StepLosses& losses);
  std::optional<Failure> Try(const std::function<void()>& work) const;
  void Abandon(const Failure& failure) const;
  bool MakeRoom(const std::vector<Draw>& draws);
  bool CutTask(const Draw& draw);
  bool TryAgain();

  Setting setting_;
  std::int64_t step_ = 0;                      // that is under way
  std::optional<GeneratorStates> generators_;  // as it began; none: no try began so far
  std::vector<Draw> computed_;
  std::string checking_;  // the task that is held against its spec
  std::vector<Overflow> overflows_;
};

}  // namespace medley
