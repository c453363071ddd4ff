#include <medley/session/same_start.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include <medley/base/file_digest.h>
#include <medley/base/json_text.h>
#include <medley/run/run_record.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// By what a person would call each.
ordered_json WhatStarts(const Run& run, const std::string& checkpoint) {
  const ordered_json record = RunRecord(run), config = ToJson(run.config);
  ordered_json start;
  for (const char* key : {"medley", "revision", "libtorch", "model", "tokenizer_hash", "threads"})
    start[key] = record.at(key);
  start["checkpoint"] = checkpoint;
  start["weights file"] = HashText(run.weights_text);
  for (const auto& [key, value] : config.items()) {
    if (key != "weights") start["config's " + key] = value;  // a copy of each one's own
  }
  for (const auto& plugin : record.at("plugins"))
    start["build of " + plugin.at("path").get<std::string>()] = plugin.at("build_id");
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
  if (cluster.alone()) return;
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
