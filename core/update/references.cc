#include <medley/update/references.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/model/adapters.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

double DecayAt(const ReferenceConfig& config, std::int64_t step, std::int64_t steps) {
  if (!config.to) return config.decay;
  const double done =
      std::min(1.0, static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(steps, 1)));
  return *config.to - (*config.to - config.decay) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

bool IsAverage(const ReferenceConfig& config) { return config.of == "average"; }

std::int64_t BytesIn(std::int64_t numbers, at::ScalarType type) {
  return numbers * static_cast<std::int64_t>(c10::elementSize(type));
}

}  // namespace

References::References(const Model& model, const MasterWeights* masters, std::set<std::string> trained,
                       const ReferencesConfig& config, const std::set<std::string>& asked,
                       const FurtherModel& make, Fixed fixed)
    : model_(model), masters_(masters), trained_(std::move(trained)) {
  for (std::size_t i = 0; i < model.parameters().size(); ++i) places_.emplace(model.parameters()[i].name, i);
  for (const std::string& name : asked) {
    const auto found = config.find(name);
    const ReferenceConfig of = found == config.end() ? ReferenceConfig() : found->second;
    Reference& reference = references_[name];
    if (IsAverage(of) || (of.of != "run" && fixed == Fixed::kNow)) {
      reference = Make(make, [&](const Parameter& parameter) {
        return IsTrained(parameter.name) ? at::empty_like(ModelsOwn(parameter.name)) : at::Tensor();
      });
    }
    reference.config = of;
    if (!IsAverage(of)) continue;
    for (const std::size_t place : reference.own) {
      const at::Tensor& rounded = reference.model->parameters()[place].tensor;
      const at::ScalarType wide = AtLeastFloat(rounded.scalar_type());
      reference.average.push_back(wide == rounded.scalar_type() ? rounded.detach()
                                                                : at::empty_like(rounded, wide));
    }
  }
  if (masters_ != nullptr) Begin();
}

// `value`: of a parameter that the model does not have itself; undefined: it does.
References::Reference References::Make(const FurtherModel& make,
                                       const std::function<at::Tensor(const Parameter&)>& value) const {
  const at::NoGradGuard no_gradients;
  Reference reference;
  reference.model = make();
  const std::vector<Parameter>& parameters = reference.model->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor values = value(parameters[i]);
    if (values.defined()) reference.own.push_back(i);
    at::Tensor handle = parameters[i].tensor;
    handle.set_requires_grad(false);
    handle.set_data((values.defined() ? values : ModelsOwn(parameters[i].name)).detach());
  }
  // For the tables: the parameters are there already.
  const at::Tensor& first = model_.parameters().front().tensor;
  reference.model->To(first.device(), first.scalar_type());
  for (const Parameter& parameter : parameters) at::Tensor(parameter.tensor).set_requires_grad(false);
  return reference;
}

const References::Reference& References::Find(std::string_view name) const {
  const auto found = references_.find(std::string(name));
  if (found != references_.end() && found->second.model) return found->second;
  if (found != references_.end() && !found->second.why_not.empty()) throw InputError(found->second.why_not);
  throw Error("no reference '" + std::string(name) +
              "'; a run has those that the passes of its tasks name: " + Listed(names()));
}

const Model& References::Of(std::string_view name) const { return *Find(name).model; }

std::vector<std::string> References::names() const {
  std::vector<std::string> names;
  for (const auto& [name, reference] : references_) names.push_back(name);
  return names;
}

at::Tensor References::ModelsOwn(const std::string& parameter) const {
  const auto found = places_.find(parameter);
  return found == places_.end() ? at::Tensor() : model_.parameters()[found->second].tensor.detach();
}

bool References::IsTrained(const std::string& parameter) const {
  return trained_.count(parameter) > 0 || places_.count(parameter) == 0;
}

at::Tensor References::MasterOf(const std::string& parameter) const {
  return masters_->list()[places_.at(parameter)].tensor.detach();
}

void References::Take(const std::string& name, const std::vector<Parameter>& weights,
                      const FurtherModel& plain) {
  std::map<std::string, at::Tensor> by_name;
  for (const Parameter& weight : weights) by_name.emplace(weight.name, weight.tensor.detach());
  Reference made = Make(plain, [&](const Parameter& parameter) {
    const at::Tensor own = ModelsOwn(parameter.name);
    const at::Tensor& first = model_.parameters().front().tensor;
    const at::Tensor value = by_name.at(parameter.name)
                                 .to(first.device(), own.defined() ? own.scalar_type() : first.scalar_type());
    const bool is_shared = !IsTrained(parameter.name) && own.sizes() == value.sizes() && own.equal(value);
    return is_shared ? at::Tensor() : value;
  });
  made.config = references_.at(name).config;
  references_.at(name) = std::move(made);
}

void References::Begin() {
  const at::NoGradGuard no_gradients;
  for (auto& [name, reference] : references_) {
    if (reference.config.of == "run" || !reference.model) continue;
    for (std::size_t i = 0; i < reference.own.size(); ++i) {
      const Parameter& parameter = reference.model->parameters()[reference.own[i]];
      if (IsAverage(reference.config)) at::Tensor(reference.average[i]).copy_(MasterOf(parameter.name));
      at::Tensor(parameter.tensor).copy_(ModelsOwn(parameter.name));
    }
  }
}

void References::Updated(std::int64_t step, std::int64_t steps) {
  const at::NoGradGuard no_gradients;
  bool any = false;
  for (auto& [name, reference] : references_) {
    if (!IsAverage(reference.config) || step % reference.config.every != 0) continue;
    any = true;
    std::vector<at::Tensor> masters;
    for (const std::size_t place : reference.own)
      masters.push_back(MasterOf(reference.model->parameters()[place].name));
    const double decay = DecayAt(reference.config, step, steps);
    if (decay == 0)
      at::_foreach_copy_(reference.average, masters);
    else
      at::_foreach_lerp_(reference.average, masters, 1 - decay);
  }
  if (any) Round();
}

std::vector<std::string> References::fixed() const {
  std::vector<std::string> names;
  for (const auto& [name, reference] : references_) {
    if (!IsAverage(reference.config)) names.push_back(name);
  }
  return names;
}

std::vector<Parameter> References::Kept(const std::string& name) const {
  const Reference& reference = Find(name);
  std::vector<Parameter> kept;
  for (const std::size_t place : reference.own) {
    const Parameter& parameter = reference.model->parameters()[place];
    kept.push_back({.name = parameter.name, .tensor = parameter.tensor.detach()});
  }
  return kept;
}

void References::Restore(const std::string& name, const SavedTensors& saved, const FurtherModel& plain) {
  for (const auto& [parameter, place] : places_) {
    const bool is_absent = references_.at(name).config.of == "run" && IsAdapter(parameter);
    if (saved.count(parameter) > 0 || !IsTrained(parameter) || is_absent) continue;
    throw InputError("the reference '" + name + "' was kept without '" + parameter +
                     "', which was frozen, and is trained now; begin a new run with init_from");
  }
  Reference made = Make(plain, [&](const Parameter& parameter) {
    const auto found = saved.find(parameter.name);
    if (found == saved.end()) return at::Tensor();
    const at::Tensor& first = model_.parameters().front().tensor;
    return found->second.to(first.device(), first.scalar_type());
  });
  made.config = references_.at(name).config;
  references_.at(name) = std::move(made);
}

std::vector<Parameter> References::State() const {
  std::vector<Parameter> state;
  for (const auto& [name, reference] : references_) {
    for (std::size_t i = 0; i < reference.average.size(); ++i)
      state.push_back({.name = reference.model->parameters()[reference.own[i]].name + kReferenceOf + name,
                       .tensor = reference.average[i]});
  }
  return state;
}

void References::Round() {
  const at::NoGradGuard no_gradients;
  for (auto& [name, reference] : references_) {
    for (std::size_t i = 0; i < reference.average.size(); ++i) {
      const at::Tensor& rounded = reference.model->parameters()[reference.own[i]].tensor;
      if (!rounded.is_same(reference.average[i]) &&
          rounded.scalar_type() != reference.average[i].scalar_type())
        at::Tensor(rounded).copy_(reference.average[i]);
    }
  }
}

std::int64_t References::BytesOf(const Reference& reference) const {
  if (!reference.model) return 0;
  std::int64_t bytes = reference.model->TableBytes();
  for (std::size_t i = 0; i < reference.own.size(); ++i) {
    const at::Tensor& own = reference.model->parameters()[reference.own[i]].tensor;
    bytes += static_cast<std::int64_t>(own.nbytes());
    if (!reference.average.empty() && reference.average[i].scalar_type() != own.scalar_type())
      bytes += static_cast<std::int64_t>(reference.average[i].nbytes());
  }
  return bytes;
}

std::int64_t References::Bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [name, reference] : references_) bytes += BytesOf(reference);
  return bytes;
}

std::vector<std::string> References::Words() const {
  std::vector<std::string> words;
  for (const auto& [name, reference] : references_) {
    if (!reference.model) continue;
    std::int64_t all = 0, own = 0;
    for (const Parameter& parameter : reference.model->parameters())
      all += static_cast<std::int64_t>(parameter.tensor.nbytes());
    for (const std::size_t place : reference.own)
      own += static_cast<std::int64_t>(reference.model->parameters()[place].tensor.nbytes());
    words.push_back("the reference '" + name + "': " + FormatBytes(BytesOf(reference)) +
                    " beside the model (its tables " + FormatBytes(reference.model->TableBytes()) + "), " +
                    FormatBytes(all - own) + " of parameters shared with it");
  }
  return words;
}

std::int64_t ReferenceBytes(const Model& model, const std::set<std::string>& trained,
                            const ReferencesConfig& config, const std::set<std::string>& asked) {
  std::int64_t bytes = 0;
  for (const std::string& name : asked) {
    const auto found = config.find(name);
    const bool is_run = found != config.end() && found->second.of == "run";
    const bool is_average = found != config.end() && IsAverage(found->second);
    bytes += model.TableBytes();
    for (const Parameter& parameter : model.parameters()) {
      if (!is_run && trained.count(parameter.name) == 0) continue;
      const at::ScalarType type = parameter.tensor.scalar_type(), wide = AtLeastFloat(type);
      bytes += BytesIn(parameter.tensor.numel(), type);
      if (is_average && wide != type) bytes += BytesIn(parameter.tensor.numel(), wide);
    }
  }
  return bytes;
}

}  // namespace medley
