#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include <medley/model/model.h>
#include <medley/plugin/loaded_task.h>
#include <medley/step/execution.h>
#include <medley/task/batch.h>

namespace medley {

// The loss that training would see on rows which it does not train on. To be used on the trainer's thread;
// without grad mode no graph is made.
class HeldOutLoss {
 public:
  // Keeps the references.
  HeldOutLoss(LoadedTask& task, const Model& model, at::Device device)
      : task_(task), model_(model), device_(device) {}

  // Runs the task's passes on rows of the CPU, all at once. What they throw passes.
  void Add(const Batch& rows);
  // Of all rows so far: the terms' weights times their means over items; a term without items adds nothing.
  double Value(const Execution& plan) const;

 private:
  LoadedTask& task_;
  const Model& model_;
  at::Device device_;
  std::map<std::string, double> sums_;
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace medley
