#pragma once

#include <cstdint>

#include <medley/config/mode.h>
#include <medley/estimate/task_shape.h>
#include <medley/model/model.h>
#include <medley/report/memory_ledger.h>

namespace medley {

// How a step of a task would run.
struct StepSetting {
  Way way{};
  std::int64_t rows = 1;
  std::int64_t micro_rows = 0;      // 0: all
  std::int64_t draws_per_step = 1;  // from the second on, all gradients may be there
  bool on_gpu = false;
  bool any_cpu = false;  // else this machine's
};

// The widest moment of a training step, by the model's footprint and the order in which the mode's forwards
// and backwards come. `floor`: what lives between steps. On the CPU it may run small products: see
// WorkspaceOf. An InputError where the model has no footprint.
MemoryLedger TrainingBytes(const Model& model, const TaskShape& task, const StepSetting& setting,
                           const MemoryLedger& floor);
// Bytes of the gradients that a step of the task leaves.
std::int64_t GradientBytes(const Model& model, const TaskShape& task);
// Layers of the deepest stack that its passes run.
int DeepestStack(const Model& model, const TaskShape& task);
// Whether the passes of a joint step make more of a picture once than its encoding, and so compute less than
// passes one by one do.
bool SharesBeyondEncodings(const Model& model, const TaskShape& task);
// Forwards of passes that a micro-batch makes.
std::int64_t ForwardsOf(const TaskShape& task, Mode mode);

}  // namespace medley
