#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string_view>

#include <medley/model/model.h>
#include <medley/task/batch.h>

namespace medley {

// What a task may use while one of its passes runs: the rows of one micro-batch, on the device.
//
// The executor decides when a pass runs, on which rows and whether its graph is kept; a pass may run
// again and must then do the same.
class PassContext {
 public:
  virtual ~PassContext();

  virtual const Batch& batch() const = 0;
  // A table of the spec, [rows, width], on the device. Asking for one that the spec lacks is an error.
  virtual at::Tensor Constant(std::string_view name) = 0;
  // A picture as floats in [0, 1], [rows, 3, size, size]: a byte column of the batch. To be read only: passes
  // share it.
  virtual at::Tensor Pixels(std::string_view column) = 0;
  // A picture for the model to look at: a byte column of the batch, or a carry. Counted as read.
  virtual ModelInput Image(std::string_view name) = 0;
  // One forward of the model. A pass makes exactly one.
  virtual ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) = 0;
  // Hands a tensor (rows first) to later passes: one of the pass's `carries`, gradient flows back through it;
  // or of its `keeps`, which is handed on without its graph.
  virtual void Carry(std::string_view name, at::Tensor value) = 0;
  virtual at::Tensor Carried(std::string_view name) = 0;
  // For random numbers in a pass, of the rows' seed, the task, the pass and the site: the same in a second
  // run of the pass and in a resume. Row i of the batch draws from CombineSeeds(Seed(site),
  // batch().rows().begin + i), so that its numbers are those of no other row, whatever rows are beside it.
  virtual std::uint64_t Seed(std::string_view site);
};

// A pass without gradients, in an evaluation.
class EvalPass : public PassContext {
 public:
  ~EvalPass() override;
  virtual Generated Generate(const ModelInputs& prompt, const GenerateOptions& options) = 0;
  // A forward of further weights: "start", or one of the run's references. A run has those that the passes of
  // its tasks name; an Error lists them. Where there is no run, it is one of the model.
  virtual ModelOutputs ForwardOf(std::string_view reference, const ModelInputs& inputs,
                                 const WantedOutputs& wanted);
};

// What a task may use to score itself: without gradients, on the trainer's thread.
//
// It may go through rows as often as it likes (first to add up the targets, then to judge), and through any
// rows: parts of those that it is to score, others of the same task, those of the other split. All must come
// from the task's own Sample, and each time costs its sampling and its forwards again. Rows that it never
// looks at are sampled all the same, for the sheet and for the comparison with training's.
class EvalContext {
 public:
  virtual ~EvalContext();
  // Samples the rows in pieces that fit and calls fn with each, in order. A piece, its pictures and its
  // carries are over when fn returns.
  virtual void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) = 0;
};

}  // namespace medley
