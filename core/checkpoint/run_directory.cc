#include <medley/checkpoint/run_directory.h>

#include <algorithm>
#include <cerrno>
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
  const std::vector<fs::path> entries = ListDirectory(path);
  return std::any_of(entries.begin(), entries.end(), [](const fs::path& entry) {
    const std::string name = entry.filename();
    return name == "config.resolved.json" || name == "metrics.jsonl" || name.starts_with("step-");
  });
}

void RefuseRun(const fs::path& path) {
  if (!HoldsRun(path)) return;
  throw InputError(path.string() + " already holds a run. To go on with it: medley resume " + path.string() +
                   ". To start anew: choose another --out");
}

// Makes it durable in its parent: nothing in the run would survive a power failure that it does not.
void SyncIntoParent(const fs::path& directory) {
  try {
    SyncDirectory(fs::canonical(directory).parent_path());
  } catch (const FileError& error) {
    if (error.number() != EACCES) throw;  // a parent that nobody may list was there before us
  }
}

// From the top, so that a killed process leaves at most the deepest one in doubt.
void MakeDirectories(const fs::path& path) {
  const auto fail = [&](const std::error_code& error) {
    throw InputError("cannot make the run directory " + path.string() + ": " + error.message());
  };
  std::error_code error;
  std::vector<fs::path> missing;
  fs::path at = fs::absolute(path).lexically_normal();
  for (; !fs::exists(at, error); at = at.parent_path()) {
    if (error) fail(error);
    if (at.has_filename()) missing.push_back(at);
  }
  SyncIntoParent(at);
  for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
    if (fs::create_directory(*next, error); error) fail(error);
    SyncIntoParent(*next);
  }
}

// What a killed process was writing or deleting. Only ever called under the lock.
void RemoveLeftovers(const fs::path& path) {
  for (const fs::path& entry : ListDirectory(path)) {
    const std::string name = entry.filename();
    if (name.starts_with(".tmp-") || name.starts_with(".del-")) RemoveAll(entry);
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
  SyncIntoParent(path);  // it may have been killed before it had done so itself
  auto lock = std::make_unique<RunLock>(path);
  RemoveLeftovers(path);
  return RunDirectory(fs::canonical(path), std::move(lock));
}

fs::path RunDirectory::WriteConfig(const ordered_json& config) const {
  int n = 0;
  while (fs::exists(ConfigPath(path_, n))) ++n;
  ReplaceFile(ConfigPath(path_, n), JsonText(config, 2) + "\n");
  return ConfigPath(path_, n);
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
