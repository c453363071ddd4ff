#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <medley/memory/guard.h>
#include <medley/memory/meter.h>
#include <medley/memory/weight_copies.h>
#include <medley/report/memory_ledger.h>
#include <medley/report/metrics.h>
#include <medley/run/run.h>

namespace medley {

// A training run's memory: holds it to its budget, measures every step and draw, and asks the guard.
class MemoryWatch {
 public:
  // Make it between two steps, when the run's state is loaded. Keeps the reference, and listens to the
  // executor until it is destroyed.
  explicit MemoryWatch(Run& run);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  void BeginStep();
  // The step's tasks are loaded, its rows are there.
  void BeginDraws() { meter_.BeginDraws(); }
  // The executor calls these two.
  void BeginDraw(const std::string& task);
  void EndDraw(const std::string& task);
  // The rows of the step, before they run: on a GPU those of one forward are copied there. A task's first
  // ones are a change of phase.
  void SeeRows(const std::vector<StepExecutor::Piece>& pieces);
  // A draw failed, and everything of the step was let go. Bytes that are in use all the same: 0, but for a
  // leak.
  std::int64_t LeftBehind() const { return meter_.LeftBehind(); }
  // The gradients are gone. Notes the step's bytes in the record, which has its number and draws, and gives
  // memory back where the guard asks for it.
  void EndStep(StepRecord& record);
  // What comes next differs from what was: an evaluation begins or ends, the mixture changes.
  void PhaseChanges();

  // Of the last step:
  const StepMemory& step() const { return step_; }
  const GuardVerdict& verdict() const { return verdict_; }
  // The task whose draw is being computed, "" between draws; after an exception that whose draw threw.
  const std::string& running() const { return running_; }
  // Of the step with the highest peak so far.
  const MemoryLedger& largest() const { return largest_; }

 private:
  std::int64_t ConstantBytes() const;
  std::map<std::string, std::int64_t> ConstantsByTask() const;  // those that have any
  MemoryLedger Ledger() const;
  void Note(StepRecord& record) const;

  Run& run_;
  bool limited_;  // the CPU's budget is this run's
  WeightCopies copies_;
  GradientsAtPeak gradients_;
  StepMeter meter_;
  Guard guard_;
  std::int64_t optimizer_ = 0;    // bytes
  std::int64_t copied_rows_ = 0;  // bytes of the largest forward's rows, on a GPU
  std::set<std::string> tasks_;   // that were drawn
  std::string running_;
  StepMemory step_;
  GuardVerdict verdict_;
  MemoryLedger largest_;
};

}  // namespace medley
