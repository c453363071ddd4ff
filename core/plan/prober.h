#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <medley/contract/contract_check.h>
#include <medley/model/model.h>
#include <medley/plan/probe_rows.h>
#include <medley/plan/profile.h>
#include <medley/plugin/loaded_task.h>
#include <medley/step/step_executor.h>

namespace medley {

// Measures what a step of a task takes: runs it for a few sizes, with gradients that are dropped. Leaves no
// trace: weights, optimizer, generators, counters and bytes in use are afterwards as before, but for the
// tasks' tables, which the first draw would have built. To be called between steps, on the trainer's thread:
// it resets the device's peak, and on the CPU lifts the process's budget while it measures.
//
// At most three sizes a task and mode, a single row among them: one row to warm up, then a step in one
// forward and a step of two micro-batches a size, for each kind of rows. No size is tried that could be too
// large: the bytes of a step grow at most in proportion to its rows. Only a single row may overflow; that is
// noted, and no error.
//
// An exception that passes leaves no gradients behind, and the prober can be used again; after a
// c10::AcceleratorError nothing on the device can.
class Prober {
 public:
  // `most_bytes`: what probes may use above what is in use now. `machine_bytes`: what CPU tensors may take in
  // all while something is measured, whatever the budget; 0: no limit. Keeps the references.
  Prober(const Model& model, StepExecutor& executor, at::Device device, std::uint64_t run_seed,
         std::int64_t most_bytes, std::int64_t machine_bytes = 0);

  // Holds the task against its spec, as its first draw would, and notes what that takes. On the CPU the
  // machine bounds it, the budget does not; a GPU's budget does, and where memory ran out the task stays
  // unchecked: false. Throws what ContractCheck::Check throws.
  bool CheckContract(ContractCheck& contract, LoadedTask& task, TaskProfile* profile = nullptr);
  // Adds the mode to the profile. `plan` says how; its micro rows do not count. Errors name the task, what
  // was measured and what the task said; the profile then has no new mode. An Error with
  // ExitCode::kDoesNotFit where already sampling some rows ran out of memory.
  // Draws never have more than `most_rows` (0: no bound), so no larger size is tried.
  void Measure(LoadedTask& task, Execution plan, TaskProfile& profile, std::int64_t most_rows = 0);
  // Runs a step as it is planned, with `rows` in a forward, and adds what was measured: where they
  // overflowed, of fewer, or that one more than were measured before is too many. Where rows of one forward
  // take more than predicted, also as a piece. The profile has the mode already. False where of more rows
  // than were measured now nothing is known but a line.
  bool Confirm(LoadedTask& task, const Execution& plan, std::int64_t rows, TaskProfile& profile);

  // Bytes of a step of one row, of the kind that takes the most, without warming up; nothing where it
  // overflowed.
  std::optional<std::int64_t> MeasureRow(LoadedTask& task, const Execution& plan);

  // Called before each step that it runs, and before a task is held against its spec; empty: nobody is.
  void BeforeSteps(std::function<void()> told) { before_step_ = std::move(told); }
  // Frees the rows that it measured with. They are kept by task until then, so the tasks live as long.
  void ForgetRows() { rows_.clear(); }

  std::int64_t steps() const { return steps_; }  // that were run
  std::int64_t overflows() const { return overflows_; }

 private:
  struct Measured {
    std::int64_t bytes = 0;      // at the peak, above the floor
    std::int64_t gradients = 0;  // bytes that stayed
    std::int64_t at_peak = 0;    // of the gradients, bytes that were there then
    double milliseconds = 0;
    std::int64_t operations = 0;  // where they were to be counted
  };
  enum class Watch { kTime, kWork };  // counting takes time

  const ProbeRows& RowsOf(LoadedTask& task);
  std::optional<Measured> Try(LoadedTask& task, const Batch& rows, const Execution& plan,
                              StepObserver& observer, Watch watch = Watch::kTime);
  std::optional<Measured> Heaviest(LoadedTask& task, Execution plan, std::int64_t rows, bool in_pieces);
  bool WarmUp(LoadedTask& task, const Execution& plan, TaskProfile& profile, ModeProfile& mode);
  bool AddSize(LoadedTask& task, const Execution& plan, std::int64_t rows, bool in_pieces,
               TaskProfile& profile, ModeProfile& mode);
  void AddLargerSizes(LoadedTask& task, const Execution& plan, std::int64_t most_rows, TaskProfile& profile,
                      ModeProfile& mode);
  std::int64_t BytesOfRebuilding(LoadedTask& task) const;
  std::int64_t BytesOfPieces(LoadedTask& task, const Execution& plan, std::int64_t rows, std::int64_t whole,
                             const TaskProfile& profile);
  std::int64_t SecondSize(const TaskProfile& profile, const ModeProfile& mode) const;

  const Model& model_;
  StepExecutor& executor_;
  at::Device device_;
  std::uint64_t seed_;
  std::int64_t most_bytes_, machine_bytes_;
  std::map<const LoadedTask*, ProbeRows> rows_;
  std::int64_t steps_ = 0, overflows_ = 0;
  std::function<void()> before_step_;
};

}  // namespace medley
