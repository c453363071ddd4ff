#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/cluster/shard.h>
#include <medley/update/shards.h>

namespace medley {

// What of a checkpoint is divided among the processes of a run: each writes a file with its parts of tensors,
// whose names have their places in the whole ("decoder.weight.exp_avg[512:1024]"). Read, they are whole
// again, however many processes wrote them.

// How the processes of a run save such a state together. All of them make each call, in the same order.
struct SavingTogether {
  ShardPlace place;
  // Does the work; where it fails in one, throws in all.
  std::function<void(const std::function<void()>&)> all_or_none;
  // What each says, in the order of ranks.
  std::function<std::vector<std::string>(const std::string&)> everyones;
};

// "optim-rank-0-of-2.safetensors"
std::string PartFile(const ShardPlace& place);
// Under names with their places.
std::vector<Parameter> WithPlaces(const std::vector<TensorPart>& parts);
// The numbers that are wanted of a tensor of so many; nothing: none of it. Without it all are, of all.
using WantedNumbers =
    std::function<std::optional<NumberRange>(const std::string& name, std::int64_t numbers)>;
// Adds what is wanted of the tensors of which a checkpoint's files have parts, each as one line of numbers,
// and returns their names: of what is not wanted nothing takes memory. An InputError names one whose parts
// are not the whole, each number once.
std::set<std::string> JoinParts(const std::filesystem::path& checkpoint,
                                std::map<std::string, at::Tensor>& saved, const WantedNumbers& wanted = {});

}  // namespace medley
