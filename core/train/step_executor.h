#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <medley/model/model.h>
#include <medley/plugin/plugin_host.h>

namespace medley {

enum class Mode { kJoint, kSequential };  // two-stage comes with the memory planner

// How the draws of a task are executed.
struct ExecutionPlan {
  Mode mode = Mode::kSequential;
  std::int64_t micro_rows = 0;                              // rows of one forward; 0: all of the draw
  std::map<std::string, double, std::less<>> term_weights;  // overrides of the spec's
};

// One term of one task in a step.
struct TermLoss {
  double sum = 0;
  std::int64_t count = 0;
  double weight = 1;
  double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0.0; }
};
using StepLosses = std::map<std::string, std::map<std::string, TermLoss>>;  // task, term

// Runs the passes of a step's draws in their modes and leaves the gradient of
//   sum over tasks and terms of weight * (sum of the term) / (its items in the whole step)
// in the parameters. Every legal mode and any micro-rows give the same gradient.
class StepExecutor {
 public:
  // Keeps references.
  StepExecutor(const Model& model, at::Device device);
  // For callers that name the run's seed: the rows bring theirs.
  StepExecutor(const Model& model, at::Device device, std::uint64_t) : StepExecutor(model, device) {}

  struct Piece {
    LoadedTask* task = nullptr;
    const Batch* batch = nullptr;  // on the CPU
    const ExecutionPlan* plan = nullptr;
  };
  // Refuses a mode that the task cannot have (InputError with the reason) before anything runs. Gradients are
  // added to what the parameters hold; an exception leaves them undefined.
  StepLosses Run(const std::vector<Piece>& step);

  // The mode without a pin: sequential, joint where something is carried.
  static Mode DefaultMode(const VariantInfo& variant);

  // Runs one row in joint mode and compares what happens with the spec: passes, terms, constants asked for,
  // images read, carries. A term of weight 0 may lack a gradient: a figure to log. Throws an Error that names
  // both sides. Leaves no gradient behind.
  void CheckContract(LoadedTask& task, const Batch& one_row);

 private:
  const Model& model_;
  at::Device device_;
};

// Frees the graphs that an exception inside a backward left in this thread's queue of the engine. Call after
// it was caught and everything else of the step is gone.
void DrainEngine();

}  // namespace medley
