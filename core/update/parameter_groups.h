#pragma once

#include <memory>
#include <vector>

#include <medley/model/model.h>
#include <medley/update/rule.h>

namespace medley {

// The first group that the parameter's name matches; null where there is none.
const ParameterGroup* GroupOf(const OptimizerConfig& config, const Parameter& parameter);
// Whether neither its group nor the model itself freezes it.
bool IsTrained(const OptimizerConfig& config, const Parameter& parameter);
// How it is updated: as its group says, else as the optimizer does where that rule takes it unasked, else by
// AdamW.
RuleName RuleNameOf(const OptimizerConfig& config, const Parameter& parameter);
std::unique_ptr<UpdateRule> RuleOf(const OptimizerConfig& config, const Parameter& parameter);
// Whether any parameter is trained by it.
bool Trains(const OptimizerConfig& config, const Model& model, RuleName rule);
// Refuses with an InputError: a group that matches no parameter, a rule for a parameter that it cannot
// update, an optimizer of a name that trains nothing, and a rule that needs all of a parameter where that is
// to be divided.
void CheckGroups(const Model& model, const OptimizerConfig& config);
// The values of the parameters that would be trained; handles.
std::vector<Parameter> TrainedOf(const OptimizerConfig& config, const Model& model);
// Sets requires_grad of each, and the type of its gradient: those of a half type are summed in float, over
// micro-batches, draws and passes. Checks groups before.
void SetTrained(const Model& model, const OptimizerConfig& config);

}  // namespace medley
