#pragma once

#include <map>
#include <string>

#include <medley/plugin/loaded_task.h>
#include <medley/task/pass_context.h>
#include <medley/task/pass_images.h>

namespace medley {

// Runs a pass up to its forward and keeps what it hands to the model: a look at a task without a model.
class RecordingPass : public PassContext {
 public:
  // Runs on the CPU. Keeps references.
  RecordingPass(LoadedTask& task, const Batch& batch)
      : task_(task), batch_(batch), images_(batch, at::kFloat) {}

  // The inputs of the pass's forward: keys are the names of pictures, carries of earlier passes are black.
  ModelInputs Record(const std::string& pass);

  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view name) override;
  at::Tensor Pixels(std::string_view column) override { return images_.Pixels(column); }
  ModelInput Image(std::string_view name) override;
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override;
  void Carry(std::string_view, at::Tensor) override {}
  at::Tensor Carried(std::string_view name) override;

 private:
  LoadedTask& task_;
  const Batch& batch_;
  PassImages images_;
  ModelInputs inputs_;
  bool recorded_ = false;
};

}  // namespace medley
