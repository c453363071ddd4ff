#include <medley/runs/groups.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/report/log_lines.h>
#include <medley/runs/first_weights.h>
#include <medley/runs/run_state.h>
#include <medley/runs/runs_below.h>
#include <medley/runs/sweep_record.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSeedFolder = "seed-";  // of a sweep

std::string NameOf(const fs::path& folder) { return Printable(NormalPath(fs::absolute(folder)).filename()); }

// "": its scores are those that it ends with. Medleys that noted no end took all of its steps too.
std::string WhyNotOver(const fs::path& path, const GroupRun& run) {
  const RunState state = StateOf(path);
  if (state.status == RunStatus::kEnded) return "";
  const nlohmann::json config = run.rows.config;
  const bool has_all_steps = NumberAt(config, "steps") <= static_cast<double>(NewestStep(run.scores));
  if (state.status != RunStatus::kTraining && has_all_steps) return "";
  return state.Words();
}

GroupRun ReadRun(const fs::path& path) {
  GroupRun run{.rows = ScoredRowsOf(path), .scores = LastScoresOf(path)};
  NameFirstWeights(path, run.rows.config);
  const auto seed = run.rows.config.find("seed");
  if (seed == run.rows.config.end() || !seed->is_number_integer())
    throw InputError(DisplayPath(path) + ": its config has no seed");
  run.seed = seed->get<std::int64_t>();
  if (run.scores.empty())
    throw InputError(DisplayPath(path) + " was not scored yet: medley eval " + DisplayPath(path) +
                     " does it");
  return run;
}

void TakeRun(const fs::path& path, RunGroup& group) try {
  const std::string left_out = "left out: " + DisplayPath(path);
  if (!IsRun(path)) {
    const std::string problem = DirectoryProblem(path);
    group.told.push_back(problem.empty() ? left_out + ", which has not begun" : "left out: " + problem);
    return;
  }
  GroupRun run = ReadRun(path);
  const std::string why = WhyNotOver(path, run);
  const bool is_there = std::ranges::count(group.runs, run.seed, &GroupRun::seed) > 0;
  if (!why.empty()) {
    group.told.push_back(left_out + ", which is not over (" + why + ")");
  } else if (is_there) {
    group.told.push_back(left_out + ", as another run has its seed, " + std::to_string(run.seed));
  } else {
    group.runs.push_back(std::move(run));
  }
} catch (const Error& error) {
  group.told.push_back("left out: " + Printable(std::string_view(error.what())));
}

// By their names.
std::vector<fs::path> FoldersIn(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const fs::path& path : ListDirectory(folder))
    if (std::error_code ignored; fs::is_directory(path, ignored)) folders.push_back(path);
  std::ranges::sort(folders);
  return folders;
}

// Of one in which no run lies.
[[noreturn]] void RefuseFolder(const fs::path& folder, const std::vector<fs::path>& folders) {
  std::vector<std::string> groups;
  for (const fs::path& path : folders)
    if (std::ranges::any_of(FoldersIn(path), IsRun)) groups.push_back(DisplayPath(path));
  if (groups.size() < 2) NewestConfig(folder);  // throws
  throw InputError(
      DisplayPath(folder) + " is neither a run nor a folder of runs, but has folders of runs in it (" +
      JoinFew(groups) + "). Name them: medley report " + groups.at(0) + " --against " + groups.at(1));
}

}  // namespace

RunGroup ReadGroup(const fs::path& folder) {
  if (const std::string problem = DirectoryProblem(folder); !problem.empty())
    throw InputError(problem + "; a run, or a folder of runs is expected");
  RunGroup group{.name = NameOf(folder), .path = DisplayPath(folder)};
  if (IsRun(folder)) {
    group.runs.push_back(ReadRun(folder));
    if (const std::string why = WhyNotOver(folder, group.runs.front()); !why.empty())
      group.told.push_back(DisplayPath(folder) + " is not over (" + why +
                           "): its scores are those after step " +
                           std::to_string(NewestStep(group.runs.front().scores)));
    return group;
  }
  const std::vector<fs::path> folders = FoldersIn(folder);
  if (std::ranges::none_of(folders, IsRun)) RefuseFolder(folder, folders);
  for (const fs::path& path : folders) {
    if (IsRun(path) || path.filename().string().starts_with(kSeedFolder)) TakeRun(path, group);
  }
  std::ranges::sort(group.runs, {}, &GroupRun::seed);
  return group;
}

std::vector<RunGroup> ReadGroupsOfSweep(const fs::path& directory) {
  std::vector<RunGroup> groups;
  std::error_code ignored;
  if (!fs::exists(directory / kSweepFile, ignored)) return groups;
  const std::optional<SweepRecord> sweep = ReadSweep(directory);
  for (const SweepGroup& group : sweep->groups) {
    const fs::path folder = directory / group.folder;
    const bool has_runs = fs::is_directory(folder, ignored) && std::ranges::any_of(FoldersIn(folder), IsRun);
    groups.push_back(has_runs || IsRun(folder)
                         ? ReadGroup(folder)
                         : RunGroup{.name = NameOf(folder), .path = DisplayPath(folder)});
  }
  return groups;
}

}  // namespace medley
