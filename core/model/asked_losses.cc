#include <medley/model/asked_losses.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

#include <medley/model/blocks/item_losses.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

bool Gives(const ModelSpec& spec, std::string_view output) {
  return std::ranges::any_of(spec.outputs,
                             [&](const TensorSpec& declared) { return declared.name == output; });
}

bool AsksFor(const WantedOutputs& wanted, std::string_view output) {
  return std::ranges::find(wanted, output) != wanted.end();
}

}  // namespace

bool MakesLossesOfLogits(const ModelSpec& spec) {
  return !Gives(spec, kLosses) && Gives(spec, kLogits) && Gives(spec, kTargets);
}

AskedLosses::AskedLosses(const ModelSpec& spec, const WantedOutputs& wanted, bool of_logits)
    : wanted_(wanted) {
  const bool can_be_made = Gives(spec, kLogits) && Gives(spec, kTargets);
  makes_ = AsksFor(wanted, kLosses) && can_be_made && (of_logits || !Gives(spec, kLosses));
  if (!makes_) return;
  std::erase(wanted_, kLosses);
  for (const std::string_view output : {kLogits, kTargets}) {
    if (!AsksFor(wanted_, output)) wanted_.push_back(output);
  }
}

void AskedLosses::AddTo(ModelOutputs& outputs, const ModelInputs& inputs) const {
  if (!makes_) return;
  const at::Tensor& given = outputs.find(kLogits)->second;
  const at::Tensor logits = given.to(AtLeastFloat(given.scalar_type()));
  LossTargets targets{.words = outputs.find(kTargets)->second};
  for (const ModelInput& input : inputs) {
    if (input.name == "smoothing") targets.smoothing = input.tensor.to(logits.scalar_type());
  }
  outputs[std::string(kLosses)] = LossesOfLogits(logits, targets);
}

}  // namespace medley
