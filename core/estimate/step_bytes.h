#pragma once

#include <cstdint>

#include <medley/estimate/task_shape.h>
#include <medley/model/model.h>
#include <medley/step/execution_mode.h>

namespace medley {

// Bytes at one moment of a step, by what they are for.
struct StepBytes {
  std::int64_t weights = 0;  // and the model's own tables
  std::int64_t optimizer = 0;
  std::int64_t constants = 0;  // the task's tables
  std::int64_t gradients = 0;
  std::int64_t inputs = 0;       // the rows, and their pictures as floats
  std::int64_t activations = 0;  // kept for the backward, beside the next two
  std::int64_t prefix = 0;       // images in front of text: keys, values and what those are made from
  std::int64_t logits = 0;
  std::int64_t working = 0;  // what lives for a moment only

  std::int64_t total() const {
    return weights + optimizer + constants + gradients + inputs + activations + prefix + logits + working;
  }
};

struct StepSetting {
  Mode mode = Mode::kSequential;
  std::int64_t rows = 1;
  std::int64_t micro_rows = 0;  // 0: all
  std::int64_t recompute_every = 0;
  std::int64_t draws_per_step = 1;  // from the second on, all gradients may be there
  bool on_gpu = false;
};

// The widest moment of a training step, by the model's footprint and the order in which the mode's forwards
// and backwards come. `floor`: what lives between steps.
StepBytes TrainingBytes(const Model& model, const TaskShape& task, const StepSetting& setting,
                        const StepBytes& floor);
// Of the gradients that a step of the task leaves.
std::int64_t GradientBytes(const Model& model, const TaskShape& task);
// Forwards of passes that a micro-batch makes.
std::int64_t ForwardsOf(const TaskShape& task, Mode mode);

}  // namespace medley
