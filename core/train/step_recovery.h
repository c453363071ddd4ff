#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/curriculum/mixer.h>
#include <medley/memory/budget.h>
#include <medley/model/model.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plugin/task_host.h>
#include <medley/report/console.h>
#include <medley/report/record_sink.h>
#include <medley/step/step_executor.h>
#include <medley/train/failure.h>
#include <medley/train/memory_advice.h>
#include <medley/train/memory_watch.h>
#include <medley/train/prefetcher.h>
#include <medley/train/stages.h>

namespace medley {

// Computes a step's gradients, and knows what to do where that fails: memory that ran out costs smaller
// micro-batches and another try; else the task that failed is found, and dropped where that is asked for, or
// the run must end. A step that failed leaves no trace but that. A device that failed (c10::AcceleratorError)
// passes: it answers nothing from then on.
class StepRecovery {
 public:
  // References outlive it.
  struct Setting {
    at::Device device;
    Budget budget;                                     // 0 bytes: no limit
    std::uint64_t seed = 0;                            // of the run
    std::int64_t draws_per_step = 1, draws_ahead = 0;  // whose rows wait
    bool drops = false;                                // on_task_error: the task, rather than the run
    std::filesystem::path directory;
    const Model& model;
    TaskHost& host;
    StepExecutor& executor;
    Stages& stages;
    PlanInForce& plan;
    Prefetcher& prefetcher;
    MemoryWatch& memory;
    RecordSinks& sinks;
    Console& console;
  };
  explicit StepRecovery(const Setting& setting) : setting_(setting) {}

  // Of step `step`, counted from 1. Nothing where a task failed: it was dropped, or the run must end. Nothing
  // either where it was interrupted: then it is as if it had not begun.
  std::optional<StepLosses> Gradients(std::int64_t step, const std::vector<Draw>& draws);
  // What it computed is not taken: the generators are as before it.
  void TakeBack() const;
  // What the last call overcame.
  std::vector<Overflow> overflows() const { return overflows_; }
  // The whole step fitted: tasks that were cut may grow back.
  void Fitted(std::int64_t step, const std::vector<Draw>& draws);

  // A task failed: drops it where that is asked for, else the run must end, as where nobody is to blame ("").
  void TaskFailed(const std::string& task, const Failure& failure);
  // Why the run must end.
  const std::optional<Failure>& failure() const { return failure_; }
  void Fail(Failure failure) { failure_ = std::move(failure); }

 private:
  StepLosses RunDraws(const std::vector<Draw>& draws);
  void Abandon(const Failure& failure) const;
  std::nullopt_t Forget() const;
  bool MakeRoom(const std::vector<Draw>& draws);
  bool CutTask(const Draw& draw);
  bool TryAgain();
  std::string FindCulprit(const std::vector<Draw>& draws);
  void AddMemoryHint(Failure& failure, const std::string& culprit, const std::vector<Draw>& draws);
  std::string AdviceFor(const std::vector<Draw>& draws);
  std::string AdviceFor(const Draw& draw);
  std::optional<Failure> FailureOf(const std::function<void()>& work) const;
  bool Fits(const std::vector<Draw>& draws);
  bool Fits(const Draw& draw, const Attempt& attempt);
  void Drop(const std::string& task, const Failure& failure);
  std::string Step() const { return "step " + std::to_string(step_); }

  Setting setting_;
  std::int64_t step_ = 0;      // that is under way
  nlohmann::json generators_;  // as it began
  std::vector<Overflow> overflows_;
  std::optional<Failure> failure_;
};

}  // namespace medley
