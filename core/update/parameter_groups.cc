#include <medley/update/parameter_groups.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/model/float_type.h>
#include <medley/model/parameter_names.h>

namespace medley {
namespace {

void CheckUsed(const Model& model, const OptimizerConfig& config) {
  const std::vector<Parameter>& parameters = model.parameters();
  for (const ParameterGroup& group : config.groups) {
    const bool used = std::ranges::any_of(
        parameters, [&](const Parameter& parameter) { return Matches(parameter, group.match); });
    if (used) continue;
    throw InputError(
        "optimizer.groups: no parameter matches '" + Printable(group.match) + "'; the model has " +
        std::to_string(parameters.size()) + " parameters, such as " +
        (parameters.empty() ? "none" : parameters.front().name + " and " + parameters.back().name));
  }
}

void CheckRules(const Model& model, const OptimizerConfig& config) {
  const std::vector<Parameter>& parameters = model.parameters();
  for (const Parameter& parameter : parameters) {
    if (!IsTrained(config, parameter)) continue;
    const std::string why = RuleOf(config, parameter)->Refuses(parameter);
    if (why.empty()) continue;
    throw InputError("optimizer.groups: '" + Printable(GroupOf(config, parameter)->match) + "' matches " +
                     parameter.name + ", " + why + ". Let the pattern match others only, or name " +
                     parameter.name + " in a group of \"rule\": \"adamw\" before it");
  }
  const bool passes_some = std::ranges::any_of(parameters, [&](const Parameter& parameter) {
    return !MakeRule(config.name, config, parameter)->TakesUnasked(parameter);
  });
  if (!passes_some || Trains(config, model, config.name)) return;
  const std::string rule = EnumName(config.name), kind(model.spec().name);
  const bool names_some =
      std::ranges::any_of(parameters, [](const Parameter& parameter) { return parameter.hidden; });
  throw InputError(
      "optimizer.name: " + rule + " updates hidden matrices, and " +
      (names_some ? "all of " + kind +
                        " are frozen or have another rule, as where adapters alone are trained. Leave the "
                        "name out"
                  : "the model " + kind +
                        " names none (ParameterSet::Hidden, Parameter::hidden). Leave the name out, or give "
                        "a group of optimizer.groups \"rule\": \"" +
                        rule + "\""));
}

void CheckNotDivided(const Model& model, const OptimizerConfig& config) {
  if (!config.shard) return;
  for (const Parameter& parameter : model.parameters()) {
    const std::string why = IsTrained(config, parameter) ? RuleOf(config, parameter)->WhyWhole() : "";
    if (why.empty()) continue;
    throw InputError(
        "optimizer.shard divides the moments among processes, and this run updates matrices with " + why +
        ". Leave optimizer.shard out, or train with another rule");
  }
}

}  // namespace

const ParameterGroup* GroupOf(const OptimizerConfig& config, const Parameter& parameter) {
  for (const ParameterGroup& group : config.groups) {
    if (Matches(parameter, group.match)) return &group;
  }
  return nullptr;
}

bool IsTrained(const OptimizerConfig& config, const Parameter& parameter) {
  const ParameterGroup* group = GroupOf(config, parameter);
  return !parameter.frozen && (group == nullptr || !group->frozen);
}

RuleName RuleNameOf(const OptimizerConfig& config, const Parameter& parameter) {
  const ParameterGroup* group = GroupOf(config, parameter);
  if (group != nullptr && group->rule) return *group->rule;
  return MakeRule(config.name, config, parameter)->TakesUnasked(parameter) ? config.name : RuleName::kAdamW;
}

std::unique_ptr<UpdateRule> RuleOf(const OptimizerConfig& config, const Parameter& parameter) {
  return MakeRule(RuleNameOf(config, parameter), config, parameter);
}

bool Trains(const OptimizerConfig& config, const Model& model, RuleName rule) {
  const auto& parameters = model.parameters();
  return std::ranges::any_of(parameters, [&](const Parameter& parameter) {
    return IsTrained(config, parameter) && RuleNameOf(config, parameter) == rule;
  });
}

void CheckGroups(const Model& model, const OptimizerConfig& config) {
  CheckUsed(model, config);
  CheckRules(model, config);
  CheckNotDivided(model, config);
}

std::vector<Parameter> TrainedOf(const OptimizerConfig& config, const Model& model) {
  std::vector<Parameter> trained;
  for (const Parameter& parameter : model.parameters()) {
    if (!IsTrained(config, parameter)) continue;
    trained.push_back(parameter);
    trained.back().tensor = parameter.tensor.detach();  // what Model::To does to the parameter leaves it
  }
  return trained;
}

void SetTrained(const Model& model, const OptimizerConfig& config) {
  CheckGroups(model, config);
  for (const Parameter& parameter : model.parameters()) {
    at::Tensor tensor = parameter.tensor;
    tensor.set_requires_grad(IsTrained(config, parameter));
    tensor.set_grad_dtype(AtLeastFloat(tensor.scalar_type()));
  }
}

}  // namespace medley
