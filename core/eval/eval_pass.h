#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <medley/plugin/loaded_task.h>
#include <medley/step/passes/pass_shapes.h>
#include <medley/task/pass_context.h>
#include <medley/task/pass_images.h>

namespace medley {

class References;  // update/references.h

// Makes every encoding once and keeps it.
class KeptEncodings : public ForwardContext {
 public:
  at::Tensor Shared(const std::string& key, const Fn& fn) override;
  // The picture is another one from now on: `key` is that of its ModelInput.
  void Forget(const std::string& key);

 private:
  std::map<std::string, at::Tensor, std::less<>> encodings_;
};

// One piece of an evaluation: what a pass may ask for, without an executor around it. A picture is encoded
// once, however often the model looks at it. Call without grad mode, on the trainer's thread.
class EvalPiece : public EvalPass {
 public:
  // Keeps references to task and models, of which further ones may be null; the batch is moved to the device.
  EvalPiece(LoadedTask& task, const Model& model, const References* references, at::Device device,
            const Batch& batch);

  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view name) override { return task_.Constant(name, device_); }
  at::Tensor Pixels(std::string_view column) override { return images_.Pixels(column); }
  ModelInput Image(std::string_view name) override { return images_.Image(name); }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override;
  void Carry(std::string_view name, at::Tensor value) override;
  at::Tensor Carried(std::string_view name) override;
  Generated Generate(const ModelInputs& prompt, const GenerateOptions& options) override;
  ModelOutputs ForwardOf(std::string_view reference, const ModelInputs& inputs,
                         const WantedOutputs& wanted) override;

  // See PassShapes; of the last forward.
  std::string Tensors() const { return shapes_.Words(batch_, images_.carries()); }

 private:
  ModelOutputs ForwardBy(const Model& model, KeptEncodings& encodings, const ModelInputs& inputs,
                         const WantedOutputs& wanted);

  LoadedTask& task_;
  const Model& model_;
  const References* references_;
  at::Device device_;
  Batch batch_;
  KeptEncodings encodings_;
  std::map<std::string, KeptEncodings, std::less<>> of_references_;
  PassImages images_;
  PassShapes shapes_;
};

// Hands a task its rows in pieces.
class PiecewiseEval : public EvalContext {
 public:
  using OnRows = std::function<void(const Batch&)>;  // on the CPU
  struct Setting {
    LoadedTask& task;
    const Model& model;
    const References* references;  // null: each is the model itself
    at::Device device;
    std::int64_t rows_at_once;  // of a piece, at most
    // Told which share of the rows is done, as far as is known: it falls where a task begins to go through
    // them once more.
    std::function<void(double share)> progress = {};
  };
  // `on_rows` is told every row once, in order: behind the task's own look at a piece, as long as the task
  // goes through the rows from the first to the last, or else in Finish. Keeps references.
  PiecewiseEval(const Setting& setting, const RowRange& rows, OnRows on_rows);

  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override;
  // The rows that the task has not looked at.
  void Finish();

 private:
  void Tell(const Batch& batch);
  void TellProgress(std::int64_t rows);

  Setting setting_;
  RowRange rows_;
  OnRows on_rows_;
  std::int64_t next_;                  // row to tell
  std::int64_t seen_ = 0, asked_ = 0;  // rows, each as often as the task goes through it
  bool in_piece_ = false;              // fn runs
};

// The pieces of a range, in order.
std::vector<RowRange> EvalPieces(const RowRange& rows, std::int64_t rows_at_once);

}  // namespace medley
