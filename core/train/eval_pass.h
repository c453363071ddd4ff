#pragma once

#include <map>
#include <string>

#include <medley/plugin/plugin_host.h>
#include <medley/task/pass_context.h>

namespace medley {

// One piece of an evaluation: what a pass may ask for, without an executor around it. Call without grad mode.
class EvalPiece : public EvalPass {
 public:
  // Keeps references to task and model; the batch is moved to the device.
  EvalPiece(LoadedTask& task, const Model& model, at::Device device, const Batch& batch);

  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view name) override { return task_.Constant(name, device_); }
  at::Tensor Pixels(std::string_view column) override;
  ModelInput Image(std::string_view name) override;
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override;
  void Carry(std::string_view name, at::Tensor value) override;
  at::Tensor Carried(std::string_view name) override;
  Generated Generate(const ModelInputs& prompt, const GenerateOptions& options) override;

 private:
  LoadedTask& task_;
  const Model& model_;
  at::Device device_;
  Batch batch_;
  std::map<std::string, at::Tensor, std::less<>> carries_;
};

// Samples in pieces of at most 32 rows: an evaluation then fits wherever training does.
class PiecewiseEval : public EvalContext {
 public:
  PiecewiseEval(LoadedTask& task, const Model& model, at::Device device)
      : task_(task), model_(model), device_(device) {}
  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override;

 private:
  LoadedTask& task_;
  const Model& model_;
  at::Device device_;
};

inline constexpr std::int64_t kEvalRows = 32;
// The pieces of a range, in order.
std::vector<RowRange> EvalPieces(const RowRange& rows);

}  // namespace medley
