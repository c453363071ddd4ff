#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>

#include <medley/cluster/cluster.h>

namespace medley {

// The processes that were started with this one to train a run together, found by the environment; this one
// alone where it names none. Says who they are on stderr, on the first of them.
std::shared_ptr<Cluster> JoinCluster();
// Where this process's lines go: those of the first to stdout, the others' into their logs alone. Those tell
// no progress either.
std::FILE* OutputOf(const Cluster& cluster);
// The first one's path, on all.
std::filesystem::path SharedPath(Cluster& cluster, const std::filesystem::path& path);

}  // namespace medley
