#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/page/last_scores.h>
#include <medley/run/rules_record.h>

namespace medley {

struct GroupRun {
  std::int64_t seed = 0;
  ScoredRows rows{};  // its resolved config, and which rows it holds out
  LastScores scores{};
};

// Runs that differ in nothing but their seed: those that lie in one folder, or a run alone.
struct RunGroup {
  std::string name{}, path{};    // the folder's; Printable
  std::vector<GroupRun> runs{};  // by seed, each once
  // A line for each run that is left out with the reason, and for what else a reader of the numbers must
  // know.
  std::vector<std::string> told{};
};

// Reads runs that may be written just now, and writes nothing. What cannot be read, has no score or is not
// over is left out, and told; a run that was named itself is taken before its end, which is told too. An
// InputError where the folder is neither a run nor has one in it, or the run that was named cannot be read.
RunGroup ReadGroup(const std::filesystem::path& folder);
// The groups of a sweep's directory in its order, also those of which nothing has begun; none of another one.
std::vector<RunGroup> ReadGroupsOfSweep(const std::filesystem::path& directory);

}  // namespace medley
