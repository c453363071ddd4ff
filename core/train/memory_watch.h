#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <medley/memory/budget.h>
#include <medley/memory/guard.h>
#include <medley/memory/meter.h>
#include <medley/memory/weight_copies.h>
#include <medley/model/model.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plugin/task_host.h>
#include <medley/report/records.h>
#include <medley/step/step_executor.h>
#include <medley/step/step_observer.h>
#include <medley/train/table_room.h>
#include <medley/update/optimizer.h>
#include <medley/update/references.h>

namespace medley {

// A training run's memory: holds it to its budget, measures every step and draw, and asks the guard. Observes
// the steps.
//
// On the trainer's thread. A step is BeginStep, BeginDraws, what the executor tells an observer, EndStep; one
// that failed has no end: Failed and LeftBehind tell of it until another BeginStep forgets it. On the CPU the
// process has this budget while the object lives, and none once it is gone: one of them at a time.
class MemoryWatch final : public StepObserver {
 public:
  // References outlive it.
  struct Setting {
    at::Device device;
    Budget budget;  // 0 bytes: no limit
    const Model& model;
    const Optimizer& optimizer;
    const References* references;  // null: each is the model itself
    TaskHost& host;
    const PlanInForce& plan;
    TableRoom& tables;
  };
  // Make it between two steps, when the run's state is loaded.
  explicit MemoryWatch(const Setting& setting);
  ~MemoryWatch() override;
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // What it cannot see here, in words for people; "" where it sees everything.
  std::string Blindness() const;

  // A step, or another try of it.
  void BeginStep();
  // The step's tasks are loaded, its rows are there. On a GPU those of one forward are copied to it. A task's
  // first ones change sizes.
  void BeginDraws(const std::vector<StepExecutor::Piece>& pieces);
  // The gradients are gone. Notes the step's bytes and what ran in the record, which has its number and
  // draws, and gives memory back where the guard asks for it.
  void EndStep(StepRecord& record);
  // What comes next allocates other sizes: an evaluation begins or ends, the mixture changes, the plan does.
  void SizesChange();

  // The same, with the bytes that it found and left; the peak is that of what ran since the last step, or
  // since the last of these calls.
  PhaseMemory Transition();

  // A draw that failed, as it was planned and as far as it went; everything of the step was let go.
  DrawReceipt Failed(const Draw& draw);
  // Bytes that are in use all the same: 0, but for a leak.
  std::int64_t LeftBehind() const { return meter_.LeftBehind(); }
  // The task whose draw is being computed, "" between draws; after an exception that whose draw threw, and
  // where.
  const std::string& running() const { return running_; }
  bool in_backward() const { return in_backward_; }

  // The guard's word on the last step.
  const GuardVerdict& verdict() const { return verdict_; }
  // The bytes of the step with the highest peak so far.
  const MemoryLedger& largest() const { return largest_; }

  void DrawBegins(const std::string& task) override;
  void DrawEnds(const std::string& task) override;
  void PassRan(const PassRun& run) override;
  void BackwardBegins() override { in_backward_ = true; }
  void BackwardEnds() override { in_backward_ = false; }

 private:
  // What a task's draws ran that no receipt has yet.
  struct Ran {
    std::int64_t tokens = 0, forwards = 0;
  };

  template <typename Fn>
  void ForEachTable(const Fn& fn) const;  // of the loaded forms: the task's name, bytes of its tables
  std::int64_t ConstantBytes() const;
  std::map<std::string, std::int64_t> ConstantsByTask() const;
  MemoryLedger Ledger() const;
  double SecondsOf(std::size_t draw, const StepRecord& record) const;
  // `others`: of the peak, tables of other tasks that no prediction counts.
  DrawReceipt ReceiptOf(const Draw& draw, std::int64_t peak, std::int64_t others);

  Setting setting_;
  bool limited_;  // the CPU's budget is this run's
  WeightCopies copies_;
  GradientsAtPeak gradients_;
  StepMeter meter_;
  Guard guard_;
  std::int64_t optimizer_ = 0;    // bytes
  std::int64_t references_ = 0;   // bytes
  std::int64_t copied_rows_ = 0;  // bytes of the largest forward's rows, on a GPU
  std::set<std::string> tasks_;   // that were drawn
  std::string running_;
  bool in_backward_ = false;
  std::vector<std::int64_t> others_tables_;  // bytes beside each draw of the step
  std::vector<double> draw_seconds_;         // of those that ended
  double draw_began_ = 0;
  std::map<std::string, Ran> ran_;
  StepMemory step_;
  GuardVerdict verdict_;
  MemoryLedger largest_;
};

}  // namespace medley
