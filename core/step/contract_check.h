#pragma once

#include <ATen/core/Tensor.h>

#include <medley/model/model.h>
#include <medley/plugin/loaded_task.h>

namespace medley {

// Every term of the variant has its items in the batch, and none more than the spec allows. Else an Error
// with both.
void CheckItems(const LoadedTask& task, const Batch& batch);

// Runs the passes over one row with all graphs alive and compares what happened with the spec: forwards,
// terms and their graphs, constants, pictures, carries, model inputs and outputs, text width, and which
// pass's graph reaches which; then, after the row behind it, again without graphs from the last pass to the
// first, which must give the same sums and carries. Throws one Error with all differences. Computes no
// gradient.
void CheckContract(LoadedTask& task, const Batch& one_row, const Model& model, at::Device device);

}  // namespace medley
