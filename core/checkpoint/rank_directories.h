#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace medley {

// Where the process of a run with this rank keeps what is its own: the first one's is the run's directory,
// another's lies in it.
std::filesystem::path DirectoryOfRank(const std::filesystem::path& run, std::int64_t rank);
// The run's, of such a one.
std::filesystem::path RunOfRank(const std::filesystem::path& own, std::int64_t rank);
// Those of the others that are there, in the order of ranks, which begin with 1.
std::vector<std::filesystem::path> DirectoriesOfOthers(const std::filesystem::path& run);
// The run whose process with another rank keeps what is its own in `directory`; else that itself. Of a whole
// path.
std::filesystem::path RunHolding(const std::filesystem::path& directory);
// The run that the place lies in, or is: the nearest folder with a resolved config, or with a run's record (a
// run.json of people's own is a config). `place` is absolute and need not be there.
std::optional<std::filesystem::path> RunAround(const std::filesystem::path& place);
// An InputError where the path is, or would be, one of those of a run: people mean the run.
void RefuseDirectoryOfRank(const std::filesystem::path& path);

}  // namespace medley
