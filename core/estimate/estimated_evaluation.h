#pragma once

#include <cstdint>
#include <memory>

#include <medley/model/model.h>
#include <medley/model/model_config.h>
#include <medley/plan/peak_lines.h>
#include <medley/plugin/loaded_task.h>

namespace medley {

// A model that computes nothing: it allocates what its footprint says that the other would, and gives back
// grey pictures, empty logits and no tokens. So what a task does around the model can be measured without
// one. Keeps both references. An InputError where the model has no footprint.
std::unique_ptr<Model> MakeHollow(const Model& model, const ModelConfig& config, bool on_gpu,
                                  bool any_cpu = false);

// Runs the task's evaluation over so many rows at once, as long as they can be, and the losses that an
// evaluation also asks for. Returns the bytes of the widest moment above those that were there, the task's
// tables not counted: those are built before, and stay. Runs on the CPU, whose peak it resets, with the
// generators afterwards as before. Throws what the task throws.
std::int64_t EvaluationPeak(LoadedTask& task, const Model& model, std::uint64_t task_seed, std::int64_t rows);

// The same by rows, as far as an evaluation ever has rows at once; `hollow` as above. Never too little.
PeakLines EvaluationLines(LoadedTask& task, const Model& hollow, std::uint64_t task_seed);

}  // namespace medley
