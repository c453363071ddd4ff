#include <medley/update/shards.h>

#include <medley/base/bytes.h>
#include <medley/update/kept_bytes.h>
#include <medley/update/parameter_groups.h>

namespace medley {

Shards::Shards(const OptimizerConfig& config, const std::vector<Parameter>& parameters,
               const ShardPlace& place)
    : rank_(static_cast<std::size_t>(place.rank)), ranges_(parameters.size()) {
  std::vector<std::int64_t> divided(parameters.size());  // numbers; 0: it is whole on each
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    numbers_.push_back(parameters[i].tensor.numel());
    if (IsTrained(config, parameters[i]) && parameters[i].tensor.is_contiguous()) divided[i] = numbers_[i];
  }
  if (!config.shard || place.ranks == 1) return;
  for (std::int64_t rank = 0; rank < place.ranks; ++rank) {
    const std::vector<NumberRange> ranges = DivideNumbers(divided, {rank, place.ranks});
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (divided[i] > 0) ranges_[i].push_back(ranges[i]), any_ = true;
    }
  }
}

const NumberRange& Shards::Own(std::size_t parameter) const { return ranges_[parameter][rank_]; }

std::int64_t Shards::OwnNumbers(std::size_t parameter) const {
  return IsDivided(parameter) ? Own(parameter).size() : numbers_[parameter];
}

at::Tensor Shards::OwnOf(std::size_t parameter, const at::Tensor& whole) const {
  if (!IsDivided(parameter)) return whole;
  return whole.view({-1}).narrow(0, Own(parameter).begin, Own(parameter).size());
}

void Shards::AddParts(std::size_t parameter, const at::Tensor& whole,
                      std::vector<GradientExchange::Owned>& parts) const {
  const at::Tensor flat = whole.view({-1});
  for (std::size_t rank = 0; rank < ranges_[parameter].size(); ++rank) {
    const NumberRange& range = ranges_[parameter][rank];
    if (range.size() > 0)
      parts.push_back({flat.narrow(0, range.begin, range.size()), static_cast<std::int64_t>(rank)});
  }
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

}  // namespace medley
