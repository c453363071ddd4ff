#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/model/model.h>

namespace medley {

// The first group that the parameter's name matches; null where there is none.
const ParameterGroup* GroupOf(const OptimizerConfig& config, const Parameter& parameter);
// Whether neither its group nor the model itself freezes it.
bool IsTrained(const OptimizerConfig& config, const Parameter& parameter);
// Refuses a group that matches no parameter, with an InputError.
void CheckGroups(const Model& model, const OptimizerConfig& config);

// Bytes that training keeps beside a parameter: its gradient, the moments of its updates, and the master of a
// half type.
struct KeptBytes {
  std::int64_t gradients = 0, moments = 0, masters = 0;

  std::int64_t state() const { return moments + masters; }
  KeptBytes& operator+=(const KeptBytes& other);
};
// These bytes of one parameter, 0 where it is frozen; and of all of a model.
KeptBytes KeptBytesOf(const OptimizerConfig& config, const Parameter& parameter);
KeptBytes KeptBytesOf(const OptimizerConfig& config, const Model& model);
// The values of the parameters that would be trained; handles.
std::vector<Parameter> TrainedOf(const OptimizerConfig& config, const Model& model);

// A line for each group in the config's order, and for what none of them matches: parameters, and bytes of
// weights, gradients and moments.
std::string GroupsTable(const Model& model, const OptimizerConfig& config);

}  // namespace medley
