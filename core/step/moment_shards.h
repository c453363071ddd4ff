#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/cluster/shard.h>
#include <medley/config/run_config.h>
#include <medley/model/model.h>

namespace medley {

// Of a model's parameters, in their order: which numbers of each the process with this place keeps the
// moments of, and updates, where the config divides them among processes. Nothing: they are not divided. So
// are those that do not follow one another, of which all processes keep and do the same.
std::vector<std::optional<NumberRange>> DividedNumbers(const OptimizerConfig& config,
                                                       const std::vector<Parameter>& parameters,
                                                       const ShardPlace& place);

// What is to be said of that before a run begins; "": nothing.
std::string ShardWords(const Model& model, const OptimizerConfig& config, const ShardPlace& place);

// A part of a tensor, as one line of numbers, and its place in the whole.
struct TensorPart {
  Parameter tensor;  // under the whole one's name
  std::int64_t begin = 0;
};

// Leaves of a saved parameter's whole moments those of these numbers: [count]. One that has another number of
// numbers is left as it is, for who loads it to name.
void TakePart(const Parameter& parameter, const NumberRange& numbers,
              std::map<std::string, at::Tensor>& saved);

}  // namespace medley
