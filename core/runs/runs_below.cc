#include <medley/runs/runs_below.h>

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_watch.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/user_directories.h>
#include <medley/curriculum/weight_log.h>
#include <medley/page/last_scores.h>
#include <medley/report/metrics.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFormat = 1;  // of the cache
constexpr std::int64_t kLargestCache = std::int64_t{1} << 30;
constexpr std::size_t kMostOthers = 10'000;  // runs that were not looked for

void Search(const fs::path& directory, std::vector<fs::path>& found) {
  if (IsRun(directory)) {
    found.push_back(directory);
    return;
  }
  std::error_code error;
  std::vector<fs::path> below;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().filename().string().starts_with(".") || at->is_symlink(ignored)) continue;
    if (at->is_directory(ignored)) below.push_back(at->path());
  }
  if (error) found.push_back(directory);
  std::ranges::sort(below);
  for (const fs::path& one : below) Search(one, found);
}

void AddFile(const fs::path& file, std::string& signature) {
  if (const std::string look = LookOf(file); !look.empty())
    signature += file.filename().string() + " " + look + "\n";
}

// Changes with each file that is read of a run.
std::string SignatureOf(const fs::path& run) {
  std::string signature;
  for (const char* file : {"run.json", kMetricsLog, kTimingLog, kWeightLog, kEvaluationFile})
    AddFile(run / file, signature);
  AddFile(run / "config.resolved.json", signature);
  std::size_t before = 0;
  for (int n = 1; before != signature.size(); ++n) {
    before = signature.size();
    AddFile(run / ("config.resolved." + std::to_string(n) + ".json"), signature);
  }
  return signature;
}

// What runs' files said when they were read last, by path.
class Cache {
 public:
  Cache() {
    if (const std::optional<fs::path> folder = UserDirectory(UserFiles::kCache))
      file_ = *folder / "runs.json";
    if (file_.empty()) return;
    try {
      json kept = json::parse(ReadSmallFile(file_, kLargestCache));
      if (kept.at("format") == kFormat) runs_ = std::move(kept.at("runs"));
    } catch (const std::exception&) {  // it is not there, or whatever it is: it is made again
    }
    if (!runs_.is_object()) runs_ = json::object();
  }

  RunFacts FactsOf(const fs::path& run) {
    const std::string signature = SignatureOf(run);
    json& kept = runs_[run.string()];
    seen_[run.string()] = true;
    try {
      if (kept.at("files") == signature) {
        RunFacts facts = RunFactsFrom(kept.at("facts"));
        if (facts.problem.empty()) return facts;  // rights change without a trace in a file
      }
    } catch (const json::exception&) {
    }
    RunFacts facts = ReadRunFacts(run);
    kept = {{"files", signature}, {"facts", ToJson(facts)}};
    changed_ = true;
    return facts;
  }

  // With what was not looked for, if that is not too much.
  void Keep() {
    if (!changed_ || file_.empty()) return;
    const bool keeps_others = runs_.size() - seen_.size() <= kMostOthers;
    json runs = json::object();
    for (auto& [path, run] : runs_.items()) {
      if (keeps_others || seen_.contains(path)) runs[path] = std::move(run);
    }
    try {
      CreateDirectories(file_.parent_path());
      ReplaceFile(file_, JsonText(json{{"format", kFormat}, {"runs", std::move(runs)}}));
    } catch (const Error&) {  // a home that cannot be written
    }
  }

 private:
  fs::path file_;
  json runs_ = json::object();
  std::map<std::string, bool> seen_;
  bool changed_ = false;
};

}  // namespace

bool IsRun(const fs::path& directory) {
  const auto has = [&](const char* name) {
    struct stat info {};
    return ::stat((directory / name).c_str(), &info) == 0;
  };
  return has("config.resolved.json") || (has(kMetricsLog) && has("run.lock"));
}

std::vector<fs::path> FindRuns(const std::vector<fs::path>& directories) {
  std::vector<fs::path> found;
  for (const fs::path& directory : directories) {
    if (const std::string problem = DirectoryProblem(directory); !problem.empty())
      throw InputError(problem + "; runs, or a directory with runs below it, are expected");
    Search(NormalPath(fs::absolute(directory)), found);
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<RunSummary> RunsBelow(const std::vector<fs::path>& directories) {
  Cache cache;
  std::vector<RunSummary> runs;
  for (const fs::path& run : FindRuns(directories)) runs.push_back(Summarized(run, cache.FactsOf(run)));
  cache.Keep();
  return runs;
}

}  // namespace medley
