#include <medley/update/rule.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <set>

#include <medley/model/float_type.h>

namespace medley {
namespace {

bool IsStateOf(const UpdateRule& rule, const std::string& name, at::IntArrayRef shape,
               const SavedTensors& saved) {
  for (const StateTensor& tensor : rule.State()) {
    if (tensor.each > 1) continue;  // who reads it says what is wrong
    const auto found = saved.find(name + tensor.ending);
    if (found == saved.end()) return false;
    const at::Tensor& values = found->second;
    const bool is_line = values.dim() == 1 && values.numel() == c10::multiply_integers(shape);
    if (tensor.each == 1 && values.sizes() != shape && !is_line) return false;
    const at::ScalarType type = found->second.scalar_type();
    if (tensor.type ? type != *tensor.type : type != at::kFloat && type != at::kDouble) return false;
  }
  return true;
}

// Of zeros, as before the first update.
void BeginAnew(const UpdateRule& rule, const std::string& name, at::IntArrayRef shape, at::ScalarType master,
               SavedTensors& saved) {
  const std::int64_t numbers = c10::multiply_integers(shape);
  for (const StateTensor& tensor : rule.State()) {
    const std::vector<std::int64_t> sizes = tensor.each == 1   ? shape.vec()
                                            : tensor.each == 0 ? std::vector<std::int64_t>()
                                                               : std::vector{tensor.Numbers(numbers)};
    saved[name + tensor.ending] = at::zeros(sizes, tensor.type.value_or(master));
  }
}

// Those that may have saved a parameter's state.
std::vector<std::unique_ptr<UpdateRule>> RulesFor(const OptimizerConfig& config, const Parameter& parameter) {
  std::vector<std::unique_ptr<UpdateRule>> rules;
  OptimizerConfig other = config;
  for (const MomentsKind kind : {MomentsKind::kFloat, MomentsKind::kBf16, MomentsKind::k8Bit}) {
    other.moments = kind;
    for (RuleMaker* make : kRules) {
      std::unique_ptr<UpdateRule> rule = make(other, parameter);
      const bool is_new = std::none_of(rules.begin(), rules.end(),
                                       [&](const auto& known) { return known->name() == rule->name(); });
      if (is_new) rules.push_back(std::move(rule));
    }
  }
  return rules;
}

}  // namespace

std::int64_t StateTensor::Numbers(std::int64_t numbers) const {
  return each == 0 ? 1 : (numbers + each - 1) / each;
}

std::int64_t UpdateRule::StateBytes(std::int64_t numbers, at::ScalarType master) const {
  std::int64_t bytes = 0;
  for (const StateTensor& tensor : State())
    bytes +=
        tensor.Numbers(numbers) * static_cast<std::int64_t>(c10::elementSize(tensor.type.value_or(master)));
  return bytes;
}

std::unique_ptr<UpdateRule> MakeRule(RuleName name, const OptimizerConfig& config,
                                     const Parameter& parameter) {
  return kRules[static_cast<std::size_t>(name)](config, parameter);
}

void TakePartOf(const OptimizerConfig& config, const Parameter& parameter, const NumberRange& part,
                SavedTensors& saved) {
  for (const auto& rule : RulesFor(config, parameter)) {
    for (const StateTensor& tensor : rule->State()) {
      for (const std::string& name : {parameter.name, parameter.former_name}) {
        const auto found = name.empty() || tensor.each == 0 ? saved.end() : saved.find(name + tensor.ending);
        if (found == saved.end() || found->second.numel() != tensor.Numbers(parameter.tensor.numel()))
          continue;
        const std::int64_t begin = part.begin / tensor.each;
        found->second = found->second.reshape({-1}).narrow(0, begin, tensor.Numbers(part.end) - begin);
      }
    }
  }
}

void KeepShared(const OptimizerConfig& config, const UpdateRule& rule, const Parameter& parameter,
                SavedTensors& saved) {
  std::set<std::string> kept;
  for (const StateTensor& tensor : rule.State()) {
    if (tensor.each > 0) continue;
    kept.insert(tensor.ending);
    if (saved.count(parameter.former_name + tensor.ending) == 0)
      saved.try_emplace(parameter.name + tensor.ending, at::zeros({}, tensor.type.value_or(at::kFloat)));
  }
  for (const auto& was : RulesFor(config, parameter)) {
    for (const StateTensor& tensor : was->State()) {
      if (kept.count(tensor.ending) > 0) continue;
      saved.erase(parameter.name + tensor.ending), saved.erase(parameter.former_name + tensor.ending);
    }
  }
}

Converted ConvertState(const OptimizerConfig& config, const UpdateRule& rule, const Parameter& parameter,
                       at::IntArrayRef shape, SavedTensors& saved) {
  for (const std::string& name : {parameter.name, parameter.former_name}) {
    if (name.empty()) continue;
    for (const auto& was : RulesFor(config, parameter)) {
      if (!IsStateOf(*was, name, shape, saved)) continue;
      if (was->name() == rule.name()) return {};
      for (const StateTensor& tensor : was->State()) {
        if (tensor.each == 1) saved.at(name + tensor.ending) = saved.at(name + tensor.ending).reshape(shape);
      }
      const GradientMeans means = was->Read(name, saved);
      for (const StateTensor& tensor : was->State()) saved.erase(name + tensor.ending);
      const bool goes_on = rule.Write(name, means, saved);
      if (!goes_on) BeginAnew(rule, name, shape, AtLeastFloat(parameter.tensor.scalar_type()), saved);
      return {was->name(), !goes_on};
    }
  }
  return {};
}

}  // namespace medley
