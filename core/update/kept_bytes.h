#pragma once

#include <cstdint>
#include <string>

#include <medley/cluster/shard.h>
#include <medley/config/run_config.h>
#include <medley/model/model.h>

namespace medley {

// Bytes that training keeps beside a parameter: its gradient, the state of its rule, the master of a half
// type, its average, its trend and the buffers of its directions; and for all of them, what rules and
// directions compute in.
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

// A line for each group in the config's order, and for what none of them matches, and apart of each what has
// another rule than AdamW: parameters, and bytes of weights, gradients, moments and what else there is.
std::string GroupsTable(const Model& model, const OptimizerConfig& config, const ShardPlace& place = {});

// What is to be said of the rules before a run begins; "": nothing.
std::string RuleWords(const Model& model, const OptimizerConfig& config);

}  // namespace medley
