#pragma once

#include <filesystem>
#include <string>

#include <medley/cluster/cluster.h>

namespace medley {

// Where a process of a run keeps what is its own: the first one's is the run's directory, another's lies in
// it and is made anew at each start. Everything that a run writes is written by each process into its own,
// but for checkpoints.
std::filesystem::path RankDirectory(const Cluster& cluster, const std::filesystem::path& run);

// Before a run begins there: what an earlier start left of this process's own is gone.
void ClearRankDirectory(const Cluster& cluster, const std::filesystem::path& run);
// Before a run goes on: gives every other process copies of what the run was so far, but for checkpoints and
// logs of steps. The first process does it, with the run's lock held, while the others wait.
void MakeRankDirectories(const Cluster& cluster, const std::filesystem::path& run);

}  // namespace medley
