#pragma once

#include <filesystem>
#include <vector>

#include <medley/runs/run_summary.h>

namespace medley {

// Whether a run lies in the directory itself.
bool IsRun(const std::filesystem::path& directory);
// The runs in these directories and below them, by their paths. What lies in a run is the run's; links and
// hidden directories are not followed. A directory that cannot be listed is one that cannot be read.
// InputError for one of those named that is no directory.
std::vector<std::filesystem::path> FindRuns(const std::vector<std::filesystem::path>& directories);

// The same with what their files say. Of files that did not change since they were read last (paths, sizes
// and times) the user's cache knows it, $XDG_CACHE_HOME/medley/runs.json; where there is none, or it cannot
// be written, they are read each time.
std::vector<RunSummary> RunsBelow(const std::vector<std::filesystem::path>& directories);

}  // namespace medley
