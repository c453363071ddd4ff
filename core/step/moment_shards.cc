#include <medley/step/moment_shards.h>

#include <ATen/core/Tensor.h>

#include <medley/base/bytes.h>
#include <medley/kernels/adamw_block.h>
#include <medley/step/compact_moments.h>
#include <medley/step/parameter_groups.h>

namespace medley {
namespace {

using WholeTensors = std::map<std::string, at::Tensor>;

// [begin, end) of a tensor of so many numbers, in the order of its shape; gone where that is none.
void Narrow(const std::string& name, std::int64_t whole, const NumberRange& part, WholeTensors& saved) {
  const auto found = saved.find(name);
  if (found == saved.end() || found->second.numel() != whole) return;
  if (part.size() == 0) {
    saved.erase(found);
  } else {
    found->second = found->second.reshape({-1}).narrow(0, part.begin, part.size());
  }
}

}  // namespace

std::vector<std::optional<NumberRange>> DividedNumbers(const OptimizerConfig& config,
                                                       const std::vector<Parameter>& parameters,
                                                       const ShardPlace& place) {
  std::vector<std::optional<NumberRange>> numbers(parameters.size());
  if (!config.shard || place.ranks == 1) return numbers;
  std::vector<std::int64_t> sizes(parameters.size());
  const auto is_divided = [&](const Parameter& parameter) {
    return IsTrained(config, parameter) && parameter.tensor.is_contiguous();
  };
  for (std::size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = is_divided(parameters[i]) ? parameters[i].tensor.numel() : 0;
  const std::vector<NumberRange> ranges = DivideNumbers(sizes, place);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (is_divided(parameters[i])) numbers[i] = ranges[i];
  }
  return numbers;
}

std::string ShardWords(const Model& model, const OptimizerConfig& config, const ShardPlace& place) {
  if (!config.shard) return "";
  if (place.ranks == 1) return "optimizer.shard: a process by itself keeps all moments";
  const std::int64_t own = KeptBytesOf(config, model, place).moments,
                     all = KeptBytesOf(config, model).moments;
  std::string words =
      "optimizer.shard: each of " + std::to_string(place.ranks) +
      " processes keeps its part of the moments, this one " + FormatBytes(own) + " of " + FormatBytes(all) +
      ". After each update every process sends the others the parameters of its part: half as "
      "many bytes again as adding up the gradients";
  const auto& parameters = model.parameters();
  if (!parameters.empty() && parameters.front().tensor.is_cuda()) return words;
  return words + ". Over Gloo, on the CPU, that may take longer than the part of the update that it saves";
}

void TakePart(const Parameter& parameter, const NumberRange& numbers, WholeTensors& saved) {
  const std::int64_t whole = parameter.tensor.numel();
  const NumberRange blocks = {numbers.begin / kernels::kBlock, kernels::BlocksOf(numbers.end)};
  for (const std::string& name : {parameter.name, parameter.former_name}) {
    if (name.empty()) continue;
    for (const char* moment : {kMeans, kSquares}) Narrow(name + moment, whole, numbers, saved);
    for (const char* scales : {kMeanScales, kSquareScales})
      Narrow(name + scales, kernels::BlocksOf(whole), numbers.size() == 0 ? NumberRange() : blocks, saved);
  }
}

}  // namespace medley
