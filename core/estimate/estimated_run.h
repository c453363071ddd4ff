#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/task_shape.h>
#include <medley/run/run.h>

namespace medley {

// A run to be estimated: its model has shapes and no values, its tasks are loaded, nothing is trained. To be
// used on one thread, where nobody else measures the CPU's memory.
class EstimatedRun {
 public:
  // Puts the run together, and runs every task's passes without the model for its shape; whatever the
  // config's device is, nothing runs there. Throws what loading, sampling and a task's passes throw.
  explicit EstimatedRun(RunInputs inputs, const Telling& tell = {});

  // On the CPU the figures are then those of the kernels that take the most, and not of this machine's.
  void AssumeAnyCpu() { any_cpu_ = true; }

  const Run& run() const { return *run_; }
  const Model& model() const { return *run_->model; }
  std::int64_t parameters() const { return parameters_; }
  std::int64_t trained() const { return trained_; }  // parameters
  // Bytes of the optimizer's state, in one of so many processes: in the one that has the most.
  std::int64_t OptimizerBytes(std::int64_t ranks = 1) const;
  // Of further weights that passes ask, at most; see References.
  std::int64_t ReferenceBytes() const;
  std::int64_t element() const;  // bytes of a parameter

  // Every named task, as configured; by rows of the largest lengths, which are sampled once.
  std::vector<EstimatedTask> Tasks(bool on_gpu) const;
  // What their evaluation takes; runs it without the model. Throws what the tasks throw.
  void AddEvaluation(std::vector<EstimatedTask>& tasks, bool on_gpu, const Telling& tell = {}) const;
  // Of one of so many processes that train it together. The estimate refers to this run's model, and must not
  // outlive it.
  Estimate Of(std::vector<EstimatedTask> tasks, bool on_gpu, std::int64_t ranks = 1,
              const Telling& tell = {}) const;
  // Takes the bytes of a profile for the tasks and modes that it has. InputError where it was measured for
  // another model, and then the tasks are as they were; where it was measured does not matter. Before Of.
  void UseProfile(const std::filesystem::path& file, std::vector<EstimatedTask>& tasks) const;

 private:
  void Load(const Telling& tell);
  void Measure(const Form& form);

  std::unique_ptr<Run> run_;
  std::map<FormId, TaskShape> shapes_;
  std::map<FormId, std::int64_t> waiting_rows_;  // bytes of one
  std::int64_t parameters_ = 0, trained_ = 0;
  bool any_cpu_ = false;
  std::int64_t kept_ = 0;  // bytes that the tasks keep on the CPU from their first draw on
};

}  // namespace medley
