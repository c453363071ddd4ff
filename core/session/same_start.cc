#include <medley/session/same_start.h>

#include <ATen/Parallel.h>

#include <nlohmann/json.hpp>
#include <vector>

#include <medley/base/file_digest.h>
#include <medley/base/json_text.h>
#include <medley/base/version.h>
#include <medley/model/gpu_kernels.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// By what a person would call each.
ordered_json WhatStarts(const Run& run, const std::string& checkpoint) {
  const ordered_json config = ToJson(run.config);
  ordered_json start = {{"medley", std::string(Version())},
                        {"revision", std::string(GitRevision())},
                        {"libtorch", std::string(Torch().version)},
                        {"model", run.model_file->info.name},
                        {"tokenizer_hash", run.tokenizer ? run.tokenizer->hash() : ""},
                        {"threads", at::get_num_threads()},
                        {"checkpoint", checkpoint}};
  start["weights file"] = HashText(run.weights_text);
  if (run.config.optimizer.moments !=
      MomentsKind::kFloat)  // whose bits are those of operators, or of kernels
    start["kernels for moments of fewer bits"] = KernelsProblem(run.device).empty();
  for (const auto& [key, value] : config.items()) {
    if (key != "weights") start["config's " + key] = value;  // a copy of each one's own
  }
  for (const std::string& task : run.NamedTasks()) {
    if (const auto& classes = run.rules->ClassesOf(task); !classes.empty())
      start["classes of " + task] = HashText(JsonText(ordered_json(classes)));
  }
  for (const PluginFile& plugin : run.registry->files())
    start["build of " + plugin.path.string()] = plugin.build_id;
  return start;
}

std::string FirstDifference(const ordered_json& first, const ordered_json& other) {
  for (const auto* side : {&first, &other}) {
    for (const auto& [key, value] : side->items()) {
      const ordered_json here = other.value(key, ordered_json()), there = first.value(key, ordered_json());
      if (here != there) return key + " is " + JsonText(here) + ", not " + JsonText(there);
    }
  }
  return "";
}

}  // namespace

void RequireSameStart(const Run& run, const std::string& checkpoint) {
  Cluster& cluster = *run.cluster;
  if (cluster.place().size == 1) return;
  const std::vector<std::string> all = Gather(cluster.group(), JsonText(WhatStarts(run, checkpoint)));
  const ordered_json first = ordered_json::parse(all.front());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::string difference = FirstDifference(first, ordered_json::parse(all[rank]));
    if (!difference.empty())
      throw InputError("rank " + std::to_string(rank) + " was started with something else than rank 0: its " +
                       difference + ". All processes of a run need the same");
  }
}

}  // namespace medley
