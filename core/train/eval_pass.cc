#include <medley/train/eval_pass.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

#include <medley/base/error.h>

namespace medley {

EvalPiece::EvalPiece(LoadedTask& task, const Model& model, at::Device device, const Batch& batch)
    : task_(task), model_(model), device_(device), batch_(batch.To(device)) {}

at::Tensor EvalPiece::Pixels(std::string_view column) { return batch_.Picture(column, FloatTypeOf(model_)); }

ModelInput EvalPiece::Image(std::string_view name) {
  const auto carried = carries_.find(name);
  if (carried != carries_.end())
    return {.name = "images", .tensor = carried->second, .key = "carry:" + carried->first};
  return {.name = "images", .tensor = Pixels(name), .key = "batch:" + std::string(name)};
}

ModelOutputs EvalPiece::Forward(const ModelInputs& inputs, const WantedOutputs& wanted) {
  ForwardContext plain;
  return model_.Forward(inputs, wanted, plain);
}

void EvalPiece::Carry(std::string_view name, at::Tensor value) {
  carries_.insert_or_assign(std::string(name), std::move(value));
}

at::Tensor EvalPiece::Carried(std::string_view name) {
  const auto found = carries_.find(name);
  if (found != carries_.end()) return found->second;
  throw Error("task '" + task_.info().name + "' asked for the carry '" + std::string(name) +
              "' in its evaluation, before it made it");
}

Generated EvalPiece::Generate(const ModelInputs& prompt, const GenerateOptions& options) {
  return model_.Generate(prompt, options);
}

std::vector<RowRange> EvalPieces(const RowRange& rows) {
  std::vector<RowRange> pieces;
  for (std::int64_t done = 0; done < rows.count; done += kEvalRows) {
    pieces.push_back({rows.seed, rows.begin + done, std::min(kEvalRows, rows.count - done)});
  }
  return pieces;
}

void PiecewiseEval::ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) {
  for (const RowRange& piece : EvalPieces(rows)) {
    EvalPiece pass(task_, model_, device_, task_.Sample(piece));
    fn(pass);
  }
}

}  // namespace medley
