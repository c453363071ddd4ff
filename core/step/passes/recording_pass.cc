#include <medley/step/passes/recording_pass.h>

#include <ATen/Functions.h>

#include <medley/base/error.h>

namespace medley {
namespace {

// Leaves the pass from inside its forward.
struct Recorded {};

}  // namespace

ModelInputs RecordingPass::Record(const std::string& pass) {
  recorded_ = false;
  try {
    task_.Run(pass, *this);
  } catch (...) {
    // The host wraps what leaves a task's code, so it is not the type that says whether this was ours.
    if (!recorded_) throw;
  }
  if (!recorded_)
    throw Error("task '" + task_.info().name + "', pass '" + pass + "' made no forward of the model");
  return inputs_;
}

at::Tensor RecordingPass::Constant(std::string_view name) { return task_.Constant(name, at::kCPU); }

ModelInput RecordingPass::Image(std::string_view name) {
  if (!batch_.HasColumn(name)) images_.Carry(name, Carried(name));
  ModelInput image = images_.Image(name);
  image.key = name;
  return image;
}

ModelOutputs RecordingPass::Forward(const ModelInputs& inputs, const WantedOutputs&) {
  inputs_ = inputs;
  recorded_ = true;
  throw Recorded{};
}

at::Tensor RecordingPass::Carried(std::string_view) {
  for (const auto& [column, tensor] : batch_.columns()) {
    if (tensor.scalar_type() == at::kByte && tensor.dim() == 4) return at::zeros(tensor.sizes(), at::kFloat);
  }
  throw Error("task '" + task_.info().name +
              "' carries something into a pass and has no picture that shows its shape");
}

}  // namespace medley
