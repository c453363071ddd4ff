#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include <medley/eval/score.h>
#include <medley/plugin/loaded_task.h>
#include <medley/step/step_executor.h>
#include <medley/text/tokenizer.h>

namespace medley {

inline constexpr std::int64_t kEvalRows = 32;

// What an evaluation needs beside the task.
struct EvalSetting {
  const Model& model;
  at::Device device;
  std::uint64_t seed = 0;  // eval.seed; the rows are those of EvalSeed(seed, task)
  std::int64_t rows = 0;
  std::int64_t rows_at_once = kEvalRows;            // of one forward, at most; halved until they fit
  std::function<void(double share)> progress = {};  // told which share of the rows is scored
  const Tokenizer* tokenizer = nullptr;             // of the run, which tells the bytes of text; null: none
  const References* references = nullptr;           // null: each is the model itself
};

// Scores rows 0 .. rows-1 of the task's evaluation, on the trainer's thread. No gradient, and libtorch's
// generators are left where they were. The scores are those of an evaluation that began with the rows at once
// that fitted (TaskScore::rows_at_once). An Error with kDoesNotFit where not one row does. What a task
// throws, and an interrupt, pass; the generators are put back then too.
TaskScore ScoreTask(LoadedTask& task, const Execution& plan, const EvalSetting& setting);

}  // namespace medley
