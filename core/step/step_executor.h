#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <medley/model/model.h>
#include <medley/plugin/plugin_host.h>
#include <medley/step/execution_mode.h>

namespace medley {

// How the draws of a task are executed.
struct ExecutionPlan {
  Mode mode = Mode::kSequential;
  std::int64_t micro_rows = 0;  // rows of one forward; 0: all of the draw
  // Activation checkpointing of the model's layers: 0 none, 1 every layer, k every k-th. Their insides are
  // not kept for the backward but computed again, bit for bit.
  int recompute_every = 0;
  std::map<std::string, double, std::less<>> term_weights{};  // overrides of the spec's
};
double TermWeight(const ExecutionPlan& plan, const TermInfo& term);

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
// in the parameters. Every legal mode, any micro-rows and any recomputation give the same gradient.
class StepExecutor {
 public:
  // Keeps references.
  StepExecutor(const Model& model, at::Device device);

  struct Piece {
    LoadedTask* task = nullptr;
    const Batch* batch = nullptr;  // on the CPU
    const ExecutionPlan* plan = nullptr;
  };
  // Refuses a mode that the task cannot have before anything of the step runs: by its spec (InputError with
  // the reason), and for other modes than joint by its graph, for which the first such draw of a task makes
  // CheckContract unless that was made. Gradients are added to what the parameters hold; an exception leaves
  // them undefined.
  StepLosses Run(const std::vector<Piece>& step);
  // Where the last Run threw: in a backward, the forwards that run again for it among them?
  bool failed_in_backward() const { return in_backward_; }

  // Runs one row in joint mode and compares what happens with the spec: passes, terms, constants asked for,
  // images read, carries; then again in the opposite order, which must give the same. A term of weight 0 may
  // lack a gradient: a figure to log. Throws an Error that names both sides. Leaves no gradient behind.
  void CheckContract(LoadedTask& task, const Batch& one_row);
  bool WasChecked(const LoadedTask& task) const { return checked_.count(&task) > 0; }

  // Told before a draw's rows move to the device, and after its last backward, when of it only gradients are
  // left; `end` is not called for a draw that throws.
  using DrawObserver = std::function<void(const std::string& task)>;
  void SetDrawObserver(DrawObserver begin, DrawObserver end);

  // Told after each forward of a pass that has a graph how many bytes the pass saved for its backward;
  // parameters and constants do not count. Off by default: it costs a look at every saved tensor.
  using PassMeter = std::function<void(const std::string& task, const std::string& pass, std::int64_t saved)>;
  void SetPassMeter(PassMeter meter);

  // Forwards of passes by task since the executor was made, those without a graph among them; layers that
  // are run again do not count.
  const std::map<std::string, std::int64_t>& forwards() const { return forwards_; }
  // And the tokens that these handed to the model, pads among them.
  const std::map<std::string, std::int64_t>& tokens() const { return tokens_; }

 private:
  void CheckGraphs(const Piece& piece);

  const Model& model_;
  at::Device device_;
  std::set<const LoadedTask*> checked_;
  DrawObserver begin_draw_, end_draw_;
  PassMeter pass_meter_;
  bool in_backward_ = false;
  std::map<std::string, std::int64_t> forwards_, tokens_;
};

// Frees the graphs that an exception inside a backward left in this thread's queue of the engine, and in that
// of a GPU's thread. Call after it was caught and everything else of the step is gone.
void DrainEngine(at::Device device = at::kCPU);

}  // namespace medley
