#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/estimate/step_bytes.h>
#include <medley/estimate/task_shape.h>
#include <medley/plan/plan.h>
#include <medley/step/accumulation.h>

namespace medley {

// One task of a run, to be estimated.
struct EstimatedTask {
  TaskRequest request;  // what the config asks of the planner
  TaskShape shape;
  StepSetting setting;               // as configured; rows 0: as many as fit
  std::vector<Way> ways;             // legal ones
  std::int64_t waiting_row = 0;      // bytes of a sampled row, with what sampling takes for a moment
  std::int64_t cache = 0;            // on the CPU, of what it keeps of its files: see Task::CacheBytes
  PeakLines evaluation{};            // bytes above the floor; none: nobody asks
  std::int64_t evaluation_rows = 0;  // at once, where they fit
  // The task's part of a profile; its bytes were measured without those of the rows (on the CPU) or with
  // them.
  std::optional<TaskProfile> measured{};
  bool measured_without_rows = true;
};

// What a run's steps would take, in bytes. Runs nothing of the model: its parameters may be on the meta
// device. To be used on one thread.
class Estimate {
 public:
  struct Setting {
    bool on_gpu = false;
    bool any_cpu = false;  // else this machine's
    std::int64_t draws_per_step = 1;
    std::int64_t draws_ahead = 0;  // that data threads sample
    bool evaluates = false;        // now and then, while it trains
    std::int64_t ranks = 1;        // processes that divide the rows of a draw
    double balance = 0;            // as the run config's
  };
  // Of several processes it is one's: the tasks then ask for its part of the rows. `floor`: what lives
  // between steps, but for the tasks' tables. Keeps a reference to the model. An InputError where that has no
  // footprint.
  Estimate(const Model& model, const MemoryLedger& floor, std::vector<EstimatedTask> tasks,
           const Setting& setting, const Telling& tell = {});

  const std::vector<EstimatedTask>& tasks() const { return tasks_; }
  const MemoryLedger& floor() const { return floor_; }  // with the tables of all tasks
  bool on_gpu() const { return setting_.on_gpu; }
  std::int64_t ranks() const { return setting_.ranks; }
  bool evaluates() const { return setting_.evaluates; }

  // Bytes at the widest moment of a step with so many rows, micro_rows in a forward, in the mode of the
  // setting.
  MemoryLedger Training(const EstimatedTask& task, std::int64_t rows, std::int64_t micro_rows) const;
  // The total of that; by the profile where that has the mode.
  std::int64_t Peak(const EstimatedTask& task, std::int64_t rows, std::int64_t micro_rows) const;
  bool IsMeasured(const EstimatedTask& task) const;  // does the profile have that mode?
  // Bytes at the widest moment of an evaluation with so many rows at once; gradients are gone, the optimizer
  // stays. Needs the task's lines of it: see EstimatedRun::AddEvaluation.
  std::int64_t Evaluation(const EstimatedTask& task, std::int64_t rows) const;
  // Bytes of the other rows that lie on the CPU while a step runs, at most; rows that the config leaves open
  // count as one.
  std::int64_t WaitingBytes() const;
  // Of what all tasks keep of their files on the CPU, at most.
  std::int64_t CacheBytes() const;

  // What the planner would do with so many bytes: every legal mode, in its order. Throws DoesNotFit, also
  // where the run evaluates and not one row of that fits.
  Plan PlanFor(std::int64_t budget) const;
  // The same for some of the tasks alone.
  Plan PlanFor(std::int64_t budget, const std::set<FormId>& forms) const;
  // The rows of one forward and how many forwards make a step, for a task of such a plan, and what that
  // takes.
  struct Recommendation {
    Accumulation rows;
    std::int64_t peak = 0;
    std::int64_t evaluation_rows = 0;  // at once; 0: not one fits
    std::int64_t evaluation_peak = 0;  // with these
    std::int64_t draw_rows = 0;        // of all processes together
  };
  Recommendation Recommend(const EstimatedTask& task, const Plan& plan) const;

 private:
  void TakeParts();
  ModeProfile ProfileOf(const EstimatedTask& task, const Way& way) const;
  TaskProfile ProfileOf(const EstimatedTask& task) const;
  ModeProfile Measured(const EstimatedTask& task, ModeProfile mode) const;
  bool CountFiner(const Plan& plan) const;
  bool MakesOnce(const EstimatedTask& task, const Way& way) const;
  std::int64_t Evaluation(const EstimatedTask& task, std::int64_t rows, const Plan& plan) const;
  void CheckEvaluation(const Plan& plan) const;
  std::int64_t StepAboveFloor(const EstimatedTask& task, StepSetting setting) const;

  const Model& model_;
  MemoryLedger floor_;
  std::vector<EstimatedTask> tasks_;
  std::vector<TaskRequest> asked_;  // of whole draws
  Setting setting_;
  mutable Profile profile_;  // finer ways are counted when a plan asks for them
};

}  // namespace medley
