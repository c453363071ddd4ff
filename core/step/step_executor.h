#pragma once

#include <vector>

#include <medley/model/model.h>
#include <medley/plugin/plugin_host.h>
#include <medley/report/term_loss.h>
#include <medley/step/execution.h>
#include <medley/step/roots.h>
#include <medley/step/step_observer.h>

namespace medley {

class References;  // update/references.h

// Runs the passes of a step's draws in their modes and leaves the gradient of
//   sum over tasks and terms of weight * (sum of the term) / (its items in the whole step)
// in the parameters. Every legal mode, any micro-rows and any recomputation give the same gradient, but for
// rounding: two equal steps give equal bits on the CPU, and on a GPU where the run is deterministic.
//
// To be used on the trainer's thread. An exception leaves undefined gradients, and memory that AbandonStep
// lets go of; then the executor can be used again. Nothing of a step stays in it.
class StepExecutor {
 public:
  // A draw, its rows and how it runs; what it points to outlives the step.
  struct Piece {
    LoadedTask* task = nullptr;
    const Batch* batch = nullptr;  // on the CPU; null: another process has all rows of the task
    const Execution* execution = nullptr;
  };
  // Holds the tasks of draws against their specs before any pass of the step runs. See ContractCheck.
  class DrawCheck {
   public:
    virtual ~DrawCheck() = default;
    virtual void CheckDraws(const std::vector<Piece>& step) = 0;
  };
  // Keeps references. Without a check, who makes it has looked at the tasks; without `references` each is the
  // model itself. Puts the engine with hooks in the place of libtorch's: see InstallSavedVariableHooks.
  StepExecutor(const Model& model, at::Device device, DrawCheck* check = nullptr,
               const References* references = nullptr);

  // What losses are multiplied with before their backward, and so gradients: see LossScale.
  void ScaleLosses(double scale) { loss_scale_ = scale; }

  // A step under way. Where several processes share one, they add up the counts of `losses` between Begin and
  // Accumulate, and gradients and sums between Read and Check.
  struct Totals {
    StepLosses losses;  // weights and counts; the sums come with Finish
    TermSums sums;
  };

  // Counts the items of all draws. Refuses a way that the task cannot have before anything of the step runs:
  // by its spec (InputError with the reason), and by what its DrawCheck finds.
  Totals Begin(const std::vector<Piece>& step);
  // Adds gradients to what the parameters hold; an exception leaves them undefined.
  void Accumulate(const std::vector<Piece>& pieces, Totals& totals, StepObserver& observer);
  // Waits for the device: what it computed. `along`: as TermSums::Read has it, afterwards on the host.
  static StepLosses Read(Totals totals, at::Tensor* along = nullptr);
  // An Error names a term that is not finite, or that has a sum and no items.
  static void Check(const StepLosses& losses);
  // Both.
  static StepLosses Finish(Totals totals);

  // Does the three in a row: a step of one process.
  StepLosses Run(const std::vector<Piece>& step, StepObserver& observer);
  StepLosses Run(const std::vector<Piece>& step);

 private:
  const Model& model_;
  at::Device device_;
  DrawCheck* check_;
  const References* references_;
  double loss_scale_ = 1;
};

}  // namespace medley
