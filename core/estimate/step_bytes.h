#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <medley/model/model.h>
#include <medley/plugin/plugin_host.h>
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

// What a task computes itself in a pass, for one row: bytes that its losses keep for the backward once the
// model's outputs are gone (below 0: less than those were), and what lives for a moment while they are made
// and while their backward runs.
struct LossBytes {
  std::int64_t kept = 0, forward = 0, backward = 0;
};

// A pass as far as its bytes go.
struct PassShape {
  std::string name;
  std::vector<std::string> images;    // columns or carries, as in the spec
  std::vector<std::string> carries;   // that it makes
  std::vector<std::string> pictures;  // columns that it needs as floats
  std::int64_t text_width = 0;
  std::int64_t longest = 0;  // text; on the CPU pads behind it are cut off
  std::int64_t items = 0;    // of a row: tokens that are learned
  bool decodes_image = false;
  LossBytes loss{};
};

// A task as far as its bytes go.
struct TaskShape {
  std::vector<PassShape> passes;
  std::int64_t row_bytes = 0;      // of a sampled row
  std::int64_t picture_bytes = 0;  // of one picture as floats
  std::int64_t constants = 0;
};

// By rows of the largest lengths: their columns, what each pass hands to the model, and its losses, which are
// measured over outputs that no model made. For fp32.
TaskShape ShapeOf(LoadedTask& task, const Batch& rows, std::int64_t image_size, const Model& model);
// The larger of each figure, for rows of several kinds.
TaskShape Widest(TaskShape a, const TaskShape& b);

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
// Of the parameters that are trained, and so of all gradients.
std::int64_t TrainedBytes(const Model& model);
// Of the gradients that a step of the task leaves.
std::int64_t GradientBytes(const Model& model, const TaskShape& task);
// Forwards of passes that a micro-batch makes.
std::int64_t ForwardsOf(const TaskShape& task, Mode mode);

}  // namespace medley
