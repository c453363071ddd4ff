#include <medley/checkpoint/load_weights.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/checkpoint/adapters_section.h>
#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/checkpoint/saved_tensors.h>
#include <medley/model/parameter_names.h>
#include <medley/update/follower.h>
#include <medley/weights/adapter_merge.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// Those whose names match one of the patterns, each of which must match some.
std::vector<Parameter> Matching(const std::vector<Parameter>& weights,
                                const std::vector<std::string>& patterns) {
  std::vector<Parameter> wanted;
  for (const std::string& pattern : patterns) {
    const auto matches = [&](const Parameter& parameter) { return Matches(parameter, pattern); };
    if (std::ranges::none_of(weights, matches)) {
      throw InputError("init_from: the pattern \"" + pattern + "\" matches no parameter of the model");
    }
    for (const Parameter& parameter : weights) {
      const bool taken =
          std::ranges::any_of(wanted, [&](const Parameter& p) { return p.name == parameter.name; });
      if (!taken && matches(parameter)) wanted.push_back(parameter);
    }
  }
  return wanted;
}

// A part that the model lacks is nothing to lose without a word.
void RequireRoom(const fs::path& file, const std::vector<Parameter>& weights,
                 const std::vector<std::string>& patterns, const SavedTensors& saved) {
  std::set<std::string> known;
  for (const Parameter& parameter : weights) known.insert({parameter.name, parameter.former_name});
  std::vector<std::string> left;
  for (const auto& [name, tensor] : saved) {
    const bool asked = std::ranges::any_of(
        patterns, [&name = name](const std::string& pattern) { return Matches(name, pattern); });
    if (asked && known.count(name) == 0 && !IsAdapter(name)) left.push_back(name);
  }
  if (left.empty()) return;
  throw InputError(
      Printable(file) + " has what this run's model lacks: " + Listed(left) +
      ". Was the model's config changed? Of another model's run, init_from.match names what is taken");
}

// Each average in the place of its weight. Whether there is any; of the rest of the file nothing is read.
bool PutAverages(const fs::path& checkpoint, SavedTensors& weights) {
  bool any = false;
  for (const auto& [name, tensor] : MapSafetensors(checkpoint / kOptimizerFile)) {
    if (!name.ends_with(kAverageOf)) continue;
    weights[name.substr(0, name.size() - std::string_view(kAverageOf).size())] = tensor;
    any = true;
  }
  return any;
}

// Each weight with what its adapters add in its place; without the adapters. Whether any is wanted.
bool Merge(SavedTensors& saved, const Adapters& adapters, const std::vector<Parameter>& wanted) {
  bool any = false;
  const auto find = [&](const std::string& name) {
    const auto found = saved.find(name);
    return found == saved.end() ? at::Tensor() : found->second;
  };
  for (auto& [name, tensor] : saved) {
    const at::Tensor merged = Merged(name, find, adapters);
    if (!merged.defined()) continue;
    tensor = merged;
    any =
        any || std::ranges::any_of(wanted, [&weight = name](const Parameter& p) { return p.name == weight; });
  }
  std::erase_if(saved, [](const auto& tensor) { return IsAdapter(tensor.first); });
  return any;
}

}  // namespace

TakenWeights LoadWeights(const fs::path& checkpoint, const std::vector<Parameter>& weights,
                         const std::vector<std::string>& patterns, const Adapters& adapters,
                         SavedWeights kind, const std::set<std::string>& anew) {
  SavedTensors saved = ReadSafetensors(checkpoint / kModelFile);
  const std::optional<Adapters> saved_adapters = ReadAdapters(checkpoint);
  TakenWeights taken;
  if (kind == SavedWeights::kAveraged) taken.averaged = PutAverages(checkpoint, saved);
  std::vector<Parameter> wanted = Matching(weights, patterns);
  std::erase_if(wanted, [&](const Parameter& parameter) { return anew.contains(parameter.name); });
  const auto of_adapter = [](const Parameter& parameter) { return IsAdapter(parameter.name); };
  const bool wants_adapters = std::ranges::any_of(wanted, of_adapter);
  if (saved_adapters && wants_adapters) RequireSameAdapters(checkpoint, *saved_adapters, adapters);
  if (saved_adapters && !adapters.any() && Merge(saved, *saved_adapters, wanted))
    taken.adapters = "merged its adapters into them";
  if (!saved_adapters && wants_adapters) {
    std::erase_if(wanted, of_adapter);
    taken.adapters = "the adapters begin anew";
    if (wanted.empty())
      throw InputError("init_from: " + Printable(checkpoint) +
                       " has no adapters, and nothing else was asked for");
  }
  for (const Parameter& parameter : wanted) CheckFits(checkpoint / kModelFile, parameter, saved);
  RequireRoom(checkpoint / kModelFile, weights, patterns, saved);
  CopySaved(checkpoint / kModelFile, wanted, saved);
  taken.count = wanted.size();
  return taken;
}

}  // namespace medley
