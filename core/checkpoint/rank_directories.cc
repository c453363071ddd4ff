#include <medley/checkpoint/rank_directories.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/run_directory.h>

namespace medley {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRankPrefix = "rank-";

bool HasConfig(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / "config.resolved.json", error);
}

bool HasRecord(const fs::path& directory) try {
  const nlohmann::ordered_json record = ReadRunRecord(directory);
  return record.is_object() && record.contains("starts");
} catch (const std::exception&) {
  return false;  // no run that anybody could go on with
}

}  // namespace

fs::path DirectoryOfRank(const fs::path& run, std::int64_t rank) {
  return rank == 0 ? run : run / (kRankPrefix + std::to_string(rank));
}

fs::path RunOfRank(const fs::path& own, std::int64_t rank) { return rank == 0 ? own : own.parent_path(); }

std::vector<fs::path> DirectoriesOfOthers(const fs::path& run) {
  std::vector<fs::path> others;
  for (std::int64_t rank = 1; fs::is_directory(DirectoryOfRank(run, rank)); ++rank)
    others.push_back(DirectoryOfRank(run, rank));
  return others;
}

fs::path RunHolding(const fs::path& directory) {
  const std::string prefix = kRankPrefix, name = directory.filename().string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool is_of_rank =
      name.starts_with(prefix) && name.size() > prefix.size() &&
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(), is_digit);
  return is_of_rank && HasConfig(directory.parent_path()) ? directory.parent_path() : directory;
}

std::optional<fs::path> RunAround(const fs::path& place) {
  std::error_code error;
  // Through links: the folders that are there, and what is below them.
  fs::path at = fs::weakly_canonical(place, error);
  if (error) at = place.lexically_normal();
  for (;; at = at.parent_path()) {
    if (HasConfig(at) || HasRecord(at)) return RunHolding(at);
    if (at == at.parent_path()) return std::nullopt;
  }
}

void RefuseDirectoryOfRank(const fs::path& path) {
  std::error_code error;
  fs::path full = fs::weakly_canonical(path, error);
  if (error) return;  // whoever opens it says why
  if (!full.has_filename()) full = full.parent_path();
  const fs::path run = RunHolding(full);
  if (run == full) return;
  throw InputError(Printable(path) + " is the folder of one process of the run " + Printable(run) +
                   ": it holds what that process said, and no run. Name the run: " + run.string());
}

}  // namespace medley
