#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/cluster/shard.h>
#include <medley/config/run_config.h>
#include <medley/model/model.h>

namespace medley {

// The first group that the parameter's name matches; null where there is none.
const ParameterGroup* GroupOf(const OptimizerConfig& config, const Parameter& parameter);
// Whether neither its group nor the model itself freezes it.
bool IsTrained(const OptimizerConfig& config, const Parameter& parameter);
// How it is updated: as its group says, else as the optimizer does, which takes Muon for what is hidden only.
UpdateRule RuleOf(const OptimizerConfig& config, const Parameter& parameter);
// What the moments of a trained parameter are kept in, where it has AdamW: as the config says, and float for
// tensors of fewer than kLeastCompact numbers, of double, and of numbers that do not follow one another.
MomentsKind MomentsOf(const OptimizerConfig& config, const Parameter& parameter);
inline constexpr std::int64_t kLeastCompact = 4096;
// Numbers of the largest matrix that is trained with Muon; 0: none is.
std::int64_t LargestOfMuon(const OptimizerConfig& config, const Model& model);
// Refuses with an InputError: a group that matches no parameter, Muon of what is no matrix, an optimizer of
// that name for a model that trains nothing with it, and Muon where the moments are to be divided.
void CheckGroups(const Model& model, const OptimizerConfig& config);

// Bytes that training keeps beside a parameter: its gradient, the moments of its updates, the master of a
// half type, its average, its trend and the buffers of its directions; and for all of them, what Muon and
// directions compute in, and moments of fewer bits on a device that has operators alone for them.
struct KeptBytes {
  std::int64_t gradients = 0, moments = 0, masters = 0, averages = 0, trends = 0, directions = 0, scratch = 0;

  std::int64_t state() const { return moments + masters + averages + trends + directions + scratch; }
  KeptBytes& operator+=(const KeptBytes& other);
};
// These bytes of one parameter, 0 where it is frozen; and of all of a model, in one of so many processes.
KeptBytes KeptBytesOf(const OptimizerConfig& config, const Parameter& parameter);
KeptBytes KeptBytesOf(const OptimizerConfig& config, const Model& model, const ShardPlace& place = {});
// The same in the process that keeps the most.
KeptBytes MostKeptBytesOf(const OptimizerConfig& config, const Model& model, std::int64_t ranks);
// The values of the parameters that would be trained; handles.
std::vector<Parameter> TrainedOf(const OptimizerConfig& config, const Model& model);

// What is to be said of the moments before a run begins; "": nothing.
std::string MomentsWords(const Model& model, const OptimizerConfig& config);

// A line for each group in the config's order, and for what none of them matches, and apart of each what has
// Muon: parameters, and bytes of weights, gradients, moments and what else there is.
std::string GroupsTable(const Model& model, const OptimizerConfig& config, const ShardPlace& place = {});

}  // namespace medley
