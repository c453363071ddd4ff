#include <medley/step/callers_model.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <exception>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/model/asked_losses.h>
#include <medley/step/passes/pass_runner.h>

namespace medley {
namespace {

TensorSpec Declared(const TensorInfo& tensor) {
  TensorSpec spec{.name = tensor.name, .dtype = tensor.dtype, .times = tensor.times, .below = tensor.below};
  for (const std::string& dimension : tensor.dimensions) spec.dimensions.Add(dimension);
  return spec;
}

bool Has(const std::vector<TensorInfo>& tensors, std::string_view name) {
  return std::ranges::find(tensors, name, &TensorInfo::name) != tensors.end();
}

// What of a model's spec passes are compared with; keeps references to the info. Losses are made of logits
// where there are both: a model from elsewhere has logits.
ModelSpec Declared(const ModelInfo& info) {
  ModelSpec spec{.name = info.name};
  for (const SizeInfo& size : info.sizes)
    spec.sizes.Add({.name = size.name, .ragged = size.ragged, .lengths = size.lengths});
  for (const TensorInfo& input : info.inputs) spec.inputs.Add(Declared(input));
  const bool made = Has(info.outputs, kLogits) && Has(info.outputs, kTargets);
  for (const TensorInfo& output : info.outputs) {
    if (!made || output.name != kLosses) spec.outputs.Add(Declared(output));
  }
  return spec;
}

class BorrowedModel final : public Model {
 public:
  // Keeps references.
  BorrowedModel(const ModelSpec& spec, const CallersModel& call, at::ScalarType dtype)
      : Model(spec), call_(call), parameters_{{.name = "dtype", .tensor = at::empty({0}, dtype)}} {}

  void Begin(const PassInfo& pass) { pass_ = &pass; }

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& /*context*/) const override {
    ModelOutputs outputs =
        call_({.pass = pass_->name, .reference = pass_->reference, .inputs = inputs, .wanted = wanted});
    const at::Tensor *tokens = FindInput(inputs, "tokens"), *learned = FindInput(inputs, "supervised");
    const bool lacks = std::ranges::find(wanted, kTargets) != wanted.end() && !outputs.contains(kTargets);
    if (lacks && tokens != nullptr && learned != nullptr)
      outputs.emplace(kTargets, tokens->flatten().index_select(0, *learned));
    return outputs;
  }
  // One that has no number: by its type a pass knows what the model computes in.
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  void To(at::Device, at::ScalarType) override {}

 private:
  const CallersModel& call_;
  std::vector<Parameter> parameters_;
  const PassInfo* pass_ = nullptr;
};

}  // namespace

std::map<std::string, TermSum> SumsOf(const CallersPasses& passes, const Batch& rows,
                                      const CallersModel& model) {
  const ModelSpec spec = Declared(passes.declared);
  BorrowedModel borrowed(spec, model, passes.dtype);
  MicroBatch micro({.task = passes.task, .model = borrowed, .device = passes.device}, rows);
  std::map<std::string, TermSum> sums;
  for (const TermInfo& term : passes.task.variant().terms) sums[term.name].items = rows.ItemCount(term.name);
  for (const PassInfo& pass : passes.task.variant().passes) {
    borrowed.Begin(pass);
    for (auto& [term, sum] : micro.RunPass(pass)) {
      at::Tensor& whole = sums.at(term).sum;
      whole = whole.defined() ? whole.add(sum) : sum;
    }
  }
  for (auto& [term, whole] : sums) {
    if (!whole.sum.defined())
      whole.sum = at::zeros({}, at::TensorOptions().device(passes.device).dtype(passes.dtype));
  }
  return sums;
}

PassInputs InputsOf(const CallersPasses& passes, const Batch& rows, std::string_view name) {
  const auto& all = passes.task.variant().passes;
  const auto pass = std::ranges::find(all, name, &PassInfo::name);
  if (pass == all.end()) {
    std::vector<std::string> names;
    for (const PassInfo& other : all) names.push_back(other.name);
    throw Error("task '" + passes.task.info().name + "' has no pass '" + std::string(name) +
                "'; its passes are " + Listed(names));
  }
  std::optional<PassInputs> seen;
  const CallersModel look = [&](const CallersForward& asked) -> ModelOutputs {
    seen = {.inputs = asked.inputs, .wanted = {asked.wanted.begin(), asked.wanted.end()}};
    throw Error("looked at");
  };
  const ModelSpec spec = Declared(passes.declared);
  BorrowedModel borrowed(spec, look, passes.dtype);
  borrowed.Begin(*pass);
  MicroBatch micro({.task = passes.task, .model = borrowed, .device = passes.device}, rows);
  try {
    micro.RunPass(*pass);
  } catch (const std::exception&) {
    if (!seen) throw;
  }
  return *seen;
}

}  // namespace medley
