#include <medley/session/rank_directory.h>

#include <string>
#include <system_error>

#include <medley/base/error.h>
#include <medley/checkpoint/rank_directories.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// What a start reads of the run: its configs, records, weights, plans. The logs of steps are the run's.
bool IsRead(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  const bool is_log = name.starts_with("metrics") || name.starts_with("timing");
  return entry.is_regular_file() && !is_log && (name.ends_with(".json") || name.ends_with(".jsonl"));
}

void Fill(const fs::path& own, const fs::path& run) {
  fs::remove_all(own);
  fs::create_directories(own);
  for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
    const fs::path name = entry.path().filename();
    if (IsRead(entry)) fs::copy_file(entry.path(), own / name);
  }
}

}  // namespace

fs::path RankDirectory(const Cluster& cluster, const fs::path& run) {
  return DirectoryOfRank(run, cluster.place().rank);
}

void ClearRankDirectory(const Cluster& cluster, const fs::path& run) {
  if (!cluster.is_first()) fs::remove_all(RankDirectory(cluster, run));
}

void MakeRankDirectories(const Cluster& cluster, const fs::path& run) {
  for (std::int64_t rank = cluster.place().size; fs::exists(DirectoryOfRank(run, rank)); ++rank)
    fs::remove_all(DirectoryOfRank(run, rank));  // of more processes than there are now
  for (std::int64_t rank = 1; rank < cluster.place().size; ++rank) {
    const fs::path own = DirectoryOfRank(run, rank);
    try {
      Fill(own, run);
    } catch (const fs::filesystem_error& error) {
      throw InputError("the folder of the run's process " + std::to_string(rank) + ", " + own.string() +
                       ", cannot be made: " + error.code().message());
    }
  }
}

}  // namespace medley
