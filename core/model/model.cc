#include <medley/model/model.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/model/model_context.h>

namespace medley {

const at::Tensor* FindInput(const ModelInputs& inputs, std::string_view name) {
  const auto found = std::ranges::find(inputs, name, &ModelInput::name);
  return found == inputs.end() ? nullptr : &found->tensor;
}

const at::Tensor& InputNamed(const ModelInputs& inputs, std::string_view name) {
  if (const at::Tensor* found = FindInput(inputs, name)) return *found;
  std::vector<std::string> names;
  for (const ModelInput& input : inputs) names.push_back(input.name);
  throw Error("the model needs the input '" + std::string(name) + "'; it was handed " + Listed(names));
}

ForwardContext::~ForwardContext() = default;

at::Tensor ForwardContext::Layer(std::string_view, int, const at::Tensor& x,
                                 const std::function<at::Tensor(const at::Tensor&)>& fn) {
  return fn(x);
}

at::Tensor ForwardContext::Shared(const std::string&, const Fn& fn) { return fn(); }

bool ForwardContext::SharesBesideLayers(const std::string&) const { return false; }

std::uint64_t ForwardContext::Seed(std::string_view) { return 0; }

std::uint64_t ForwardContext::SeedOf(const std::string&, std::string_view site) { return Seed(site); }

RowRange ForwardContext::Rows() const { return {}; }

std::int64_t ForwardShape::Size(std::string_view name) const {
  const auto found = sizes.find(name);
  return found == sizes.end() ? 0 : found->second;
}

Model::~Model() = default;

Generated Model::Generate(const ModelInputs&, const GenerateOptions&, ForwardContext&) const {
  throw InputError(
      "the model '" + std::string(spec_.name) +
      "' does not generate (Model::Generate in medley/model/model.h); judge what Forward gives instead");
}

std::vector<ForwardPart> Model::Footprint(const ForwardShape&) const {
  throw InputError(
      "the model '" + std::string(spec_.name) +
      "' has no footprint, which an estimate is made of: the bytes of every part of its forward. Measure "
      "instead: medley plan CONFIG runs a few steps of each task here, and medley train does so by itself. "
      "Or write the model's Footprint: GestureNet in docs/writing-a-task.md has one, an MlpModel brings "
      "its own, and check::Footprint holds it against what is allocated");
}

std::int64_t Model::vocabulary() const { return 0; }

std::int64_t Model::TableBytes() const { return 0; }

KernelShapes Model::Kernels() const { return {}; }

at::ScalarType FloatTypeOf(const Model& model) {
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.tensor.is_floating_point()) return parameter.tensor.scalar_type();
  }
  return at::kFloat;
}

void ClearGradients(const Model& model) {
  for (const Parameter& parameter : model.parameters()) parameter.tensor.mutable_grad().reset();
}

const Tokenizer& ModelContext::tokenizer() const {
  if (tokenizer_ != nullptr) return *tokenizer_;
  throw Error("the model '" + config.kind() +
              "' asks for the tokenizer, which its spec does not declare; add .tokenizer = true to kSpec");
}

}  // namespace medley
