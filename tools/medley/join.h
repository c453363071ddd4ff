#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <medley/cluster/cluster.h>
#include <medley/plugin/confirmed_paths.h>

namespace medley {

// What the processes of a run are started with.
struct JoinRequest {
  std::filesystem::path directory;     // of the run; "" where none is named
  std::filesystem::path config;        // whose start_timeout counts
  std::vector<std::string> overrides;  // of it
  NamedPlugins plugins = {};
  bool begins = true;  // it is no resume
};
// The processes that were started with this one to train a run together, found by the environment; this one
// alone where it names none. While it waits for them it says on stderr who is there; then, on the first of
// them, who started them. Where the run has tasks in Python, several become its processes before they meet.
std::shared_ptr<Cluster> JoinCluster(const JoinRequest& request);
// Where this process's lines go: those of the first to stdout, the others' into their logs alone. Those tell
// no progress either.
std::FILE* OutputOf(const Cluster& cluster);
// The first one's path, on all.
std::filesystem::path SharedPath(Cluster& cluster, const std::filesystem::path& path);

}  // namespace medley
