#include <medley/checkpoint/rank_directories.h>

#include <string>

namespace medley {

namespace fs = std::filesystem;

fs::path DirectoryOfRank(const fs::path& run, std::int64_t rank) {
  return rank == 0 ? run : run / ("rank-" + std::to_string(rank));
}

std::vector<fs::path> DirectoriesOfOthers(const fs::path& run) {
  std::vector<fs::path> others;
  for (std::int64_t rank = 1; fs::is_directory(DirectoryOfRank(run, rank)); ++rank)
    others.push_back(DirectoryOfRank(run, rank));
  return others;
}

}  // namespace medley
