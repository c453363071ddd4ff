#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <medley/cluster/gradient_exchange.h>
#include <medley/cluster/shard.h>
#include <medley/config/optimizer_config.h>
#include <medley/model/model.h>

namespace medley {

// A part of a tensor, as one line of numbers, and its place in the whole.
struct TensorPart {
  Parameter tensor;  // under the whole one's name
  std::int64_t begin = 0;
};

// Which process of a run updates which numbers of the model's parameters, and keeps the state for it: all of
// them each, or where the config divides that, its part of those that are trained and whose numbers follow
// one another. Parameters by their number in the model.
class Shards {
 public:
  Shards(const OptimizerConfig& config, const std::vector<Parameter>& parameters, const ShardPlace& place);

  bool any() const { return any_; }  // whether any is divided
  bool IsDivided(std::size_t parameter) const { return !ranges_[parameter].empty(); }
  // Of a divided parameter this process's numbers.
  const NumberRange& Own(std::size_t parameter) const;
  // How many of a parameter's numbers this process updates.
  std::int64_t OwnNumbers(std::size_t parameter) const;
  // Of a tensor in the parameter's shape what belongs to them: [own], or where it is not divided all of it.
  at::Tensor OwnOf(std::size_t parameter, const at::Tensor& whole) const;
  // Of a divided tensor every process's part.
  void AddParts(std::size_t parameter, const at::Tensor& whole,
                std::vector<GradientExchange::Owned>& parts) const;

 private:
  std::size_t rank_;
  std::vector<std::int64_t> numbers_;             // of each parameter
  std::vector<std::vector<NumberRange>> ranges_;  // by rank; none: it is not divided
  bool any_ = false;
};

// What is to be said of that before a run begins; "": nothing.
std::string ShardWords(const Model& model, const OptimizerConfig& config, const ShardPlace& place);

}  // namespace medley
