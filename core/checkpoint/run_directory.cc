#include <medley/checkpoint/run_directory.h>

#include <system_error>
#include <utility>
#include <vector>

#include <medley/base/clock.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kLargestJson = 64 << 20;

fs::path ConfigPath(const fs::path& run, int n) {
  return run / (n == 0 ? "config.resolved.json" : "config.resolved." + std::to_string(n) + ".json");
}

bool HoldsRun(const fs::path& path) {
  if (fs::exists(path / "config.resolved.json") || fs::exists(path / "metrics.jsonl")) return true;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.path().filename().string().rfind("step-", 0) == 0) return true;
  }
  return false;
}

void RefuseRun(const fs::path& path) {
  if (!HoldsRun(path)) return;
  throw InputError(path.string() + " already holds a run. To go on with it: medley resume " + path.string() +
                   ". To start anew: choose another --out");
}

// Each is durable in its parent: nothing in the run would survive a power failure that it does not.
void MakeDirectories(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path at = fs::absolute(path).lexically_normal(); !fs::exists(at, error); at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at);
  }
  fs::create_directories(path, error);
  if (error) throw InputError("cannot make the run directory " + path.string() + ": " + error.message());
  for (const fs::path& made : missing) SyncDirectory(made.parent_path());
}

// What a killed process was writing or deleting. Only ever called under the lock.
void RemoveLeftovers(const fs::path& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(".tmp-", 0) == 0 || name.rfind(".del-", 0) == 0) fs::remove_all(entry.path());
  }
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, std::unique_ptr<RunLock> lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

void RunDirectory::CheckFree(const fs::path& path) {
  if (!fs::exists(path)) return;
  if (!fs::is_directory(path)) throw InputError(path.string() + " is not a directory; choose another --out");
  RunLock::Check(path);
  RefuseRun(path);
}

RunDirectory RunDirectory::Create(const fs::path& path) {
  MakeDirectories(path);
  auto lock = std::make_unique<RunLock>(path);
  RefuseRun(path);
  RemoveLeftovers(path);
  return RunDirectory(fs::canonical(path), std::move(lock));
}

RunDirectory RunDirectory::Open(const fs::path& path) {
  NewestConfig(path);
  auto lock = std::make_unique<RunLock>(path);
  RemoveLeftovers(path);
  return RunDirectory(fs::canonical(path), std::move(lock));
}

void RunDirectory::WriteConfig(const ordered_json& config) const {
  int n = 0;
  while (fs::exists(ConfigPath(path_, n))) ++n;
  ReplaceFile(ConfigPath(path_, n), JsonText(config, 2) + "\n");
}

void RunDirectory::WriteRecord(ordered_json record) const {
  const ordered_json old = ReadRunRecord(path_);
  ordered_json starts = old.is_object() ? old.value("starts", ordered_json::array()) : ordered_json::array();
  ordered_json start = {{"time", TimeStamp()}};
  for (const auto& [key, value] : record.items()) {
    if (value.is_primitive()) start[key] = value;
  }
  starts.push_back(std::move(start));
  record["starts"] = std::move(starts);
  ReplaceFile(path_ / "run.json", JsonText(record, 2) + "\n");
}

fs::path NewestConfig(const fs::path& run) {
  if (const std::string problem = DirectoryProblem(run); !problem.empty())
    throw InputError(problem + "; a run directory is expected");
  if (!fs::exists(ConfigPath(run, 0))) {
    throw InputError(run.string() +
                     " holds no run (it has no config.resolved.json). Start one: medley train CONFIG --out " +
                     run.string());
  }
  int n = 0;
  while (fs::exists(ConfigPath(run, n + 1))) ++n;
  return ConfigPath(run, n);
}

ordered_json ReadRunRecord(const fs::path& run) {
  const fs::path path = run / "run.json";
  if (!fs::exists(path)) return nullptr;
  ordered_json record = ReadJson(ReadSmallFile(path, kLargestJson), DisplayPath(path));
  if (!record.is_object()) throw InputError(path.string() + " is damaged: a JSON object was expected");
  return record;
}

fs::path DefaultRunPath(const fs::path& config) {
  const fs::path base = fs::path("runs") / (config.stem().string() + "-" + TimeForName());
  fs::path path = base;
  for (int n = 2; fs::exists(path); ++n) path = base.string() + "-" + std::to_string(n);
  return path;
}

}  // namespace medley
