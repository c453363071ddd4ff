#include <medley/update/rule.h>

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <set>

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

// Those that may have saved a parameter's state.
std::vector<std::unique_ptr<UpdateRule>> RulesFor(const OptimizerConfig& config, const Parameter& parameter) {
  std::vector<std::unique_ptr<UpdateRule>> rules;
  OptimizerConfig other = config;
  for (const MomentsKind kind : {MomentsKind::kFloat, MomentsKind::kBf16, MomentsKind::k8Bit}) {
    other.moments = kind;
    for (RuleMaker* make : kRules) {
      std::unique_ptr<UpdateRule> rule = make(other, parameter);
      const bool is_new =
          std::ranges::none_of(rules, [&](const auto& known) { return known->name() == rule->name(); });
      if (is_new) rules.push_back(std::move(rule));
    }
  }
  return rules;
}

}  // namespace

std::int64_t StateTensor::Numbers(std::int64_t numbers) const {
  return each == 0 ? 1 : (numbers + each - 1) / each;
}

at::Tensor StateTensor::Zeros(const at::Tensor& master) const {
  at::TensorOptions options = master.options();
  if (type) options = options.dtype(*type);
  if (on_host) options = options.device(at::kCPU);
  if (each == 1) return at::zeros_like(master, options);
  if (each == 0) return at::zeros({}, options);
  return at::zeros({Numbers(master.numel())}, options);
}

std::int64_t UpdateRule::StateBytes(std::int64_t numbers, at::ScalarType master) const {
  std::int64_t bytes = 0;
  for (const StateTensor& tensor : State())
    bytes +=
        tensor.Numbers(numbers) * static_cast<std::int64_t>(c10::elementSize(tensor.type.value_or(master)));
  return bytes;
}

std::vector<at::Tensor> GradientsOf(const UpdatedGroup& group) {
  std::vector<at::Tensor> gradients;
  for (const Updated& updated : group.parameters) {
    if (updated.gradients.numel() > 0) gradients.push_back(updated.gradients);
  }
  return gradients;
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
  const auto rules = RulesFor(config, parameter);
  for (const std::string& name : {parameter.name, parameter.former_name}) {
    if (name.empty()) continue;
    for (const auto& was : rules) {
      if (!IsStateOf(*was, name, shape, saved)) continue;
      if (was->name() == rule.name()) return {};
      for (const StateTensor& tensor : was->State()) {
        if (tensor.each == 1) saved.at(name + tensor.ending) = saved.at(name + tensor.ending).reshape(shape);
      }
      const GradientMeans means = was->Read(name, saved);
      for (const StateTensor& tensor : was->State()) saved.erase(name + tensor.ending);
      const bool goes_on = rule.Write(name, means, saved);
      for (const StateTensor& tensor : goes_on ? std::vector<StateTensor>() : rule.State())
        saved[name + tensor.ending] = tensor.Zeros(means.mean);  // as before the first update
      return {was->name(), !goes_on};
    }
  }
  return {};
}

}  // namespace medley
