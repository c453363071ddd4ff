#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <medley/model/model.h>
#include <medley/model/model_config.h>
#include <medley/plugin/loaded_task.h>

namespace medley {

// What a task computes itself in a pass, for one row: bytes that its losses keep for the backward once the
// model's outputs are gone (below 0: less than those were), and what lives for a moment while they are made
// and while their backward runs.
struct LossBytes {
  std::int64_t kept = 0, forward = 0, backward = 0;
};

// A pass as far as its bytes go.
struct PassShape {
  std::string name;
  std::vector<std::string> images;   // columns or carries, as in the spec
  std::vector<std::string> carries;  // that it makes, with a gradient
  bool has_gradient = true;
  std::vector<std::string> pictures;  // columns that it needs as floats
  ForwardSizes sizes{};               // of a ragged one that of one row
  ForwardSizes longest{};           // the same on the CPU, where what lies behind the longest row is cut off
  std::set<std::string> outputs{};  // of the model
  LossBytes loss{};
  std::int64_t kept = 0;  // bytes of a row that it keeps for later passes
};

// A task as far as its bytes go.
struct TaskShape {
  std::vector<PassShape> passes;
  std::int64_t row_bytes = 0;      // of a sampled row
  std::int64_t picture_bytes = 0;  // of one picture as floats, or of a carry
  std::int64_t constants = 0;
  std::map<std::string, std::int64_t> shared{};  // of these: see TaskProfile
};

// The shape that rows of the largest lengths show, with the model and its values: their columns, what each
// pass hands to the model, and its losses, which are measured over outputs that no model made. For fp32. Runs
// the passes with their backward on the CPU, whose peak it resets, and leaves the task's tables there. Throws
// what a pass throws.
TaskShape ShapeOf(LoadedTask& task, const Batch& rows, const Model& model, const ModelConfig& config);
// The larger of each figure, for rows of several kinds of one task: both have the same passes.
TaskShape Widest(TaskShape a, const TaskShape& b);

}  // namespace medley
