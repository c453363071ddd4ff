#include <medley/checkpoint/run_directory.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <medley/base/clock.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/newer.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/data/data_rules.h>

namespace medley {
namespace {

using nlohmann::json;

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kLargestJson = 64 << 20;
constexpr const char* kRecordFile = "run.json";

fs::path ConfigPath(const fs::path& run, int n) {
  return run / (n == 0 ? "config.resolved.json" : "config.resolved." + std::to_string(n) + ".json");
}

bool HoldsRun(const fs::path& path) {
  const std::vector<fs::path> entries = ListDirectory(path);
  return std::ranges::any_of(entries, [](const fs::path& entry) {
    const std::string name = entry.filename();
    return name == "config.resolved.json" || name == "metrics.jsonl" || name.starts_with("step-");
  });
}

void RefuseRun(const fs::path& path) {
  if (!HoldsRun(path)) return;
  throw InputError(Printable(path) + " already holds a run. To go on with it: medley resume " +
                   ShellWord(path.string()) + ". To start anew: choose another --out");
}

// Whether medley plan wrote it: with it a run may begin.
bool IsOfPlan(const fs::path& file) try {
  return ReadJson(ReadSmallFile(file, kLargestJson), "").contains("format");
} catch (const Error&) {
  return false;
}

// What a run would write its own over, and no start has left there; "" where there is none.
std::string WouldBeLost(const fs::path& path) {
  const auto is_there = [&](const char* name) {  // what a rename would replace, and that somebody wrote
    const fs::file_type type = TypeOf(path / name);
    return type == fs::file_type::regular || type == fs::file_type::symlink;
  };
  if (is_there("run.lock")) return "";
  for (const char* name :
       {"run.json", "weights.json", "timing.jsonl", "losses.csv", "receipt.json", "LATEST"})
    if (is_there(name)) return name;
  for (const char* name : {"profile.json", "plan.json"})
    if (is_there(name) && !IsOfPlan(path / name)) return name;
  return is_there("plan.txt") && !is_there("plan.json") ? "plan.txt" : "";
}

void RefuseLoss(const fs::path& path) {
  const std::string name = WouldBeLost(path);
  if (name.empty()) return;
  throw InputError(Printable(path / name) +
                   " is there, and a run would write its own over it; choose another --out, or a new folder");
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
    throw InputError("cannot make the run directory " + Printable(path) + ": " + error.message());
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

// Where the first one is lost the others tell as much.
fs::path NewestConfigOf(const fs::path& run) {
  if (const std::string problem = DirectoryProblem(run); !problem.empty())
    throw InputError(problem + "; a run directory is expected");
  int next = 0;
  while (next < 2 && !fs::exists(ConfigPath(run, next))) ++next;
  if (next == 2) {
    throw InputError(Printable(run) +
                     " holds no run (it has no config.resolved.json). Start one: medley train CONFIG --out " +
                     ShellWord(run.string()));
  }
  while (fs::exists(ConfigPath(run, next + 1))) ++next;
  return ConfigPath(run, next);
}

// Not what a user may have mistyped in it: that is told where it is read.
std::string ConfigProblem(const fs::path& config) try {
  return ReadJson(ReadSmallFile(config, kLargestJson), config.filename().string()).is_object()
             ? ""
             : "a JSON object was expected";
} catch (const FileError& error) {
  if (!IsDamage(error)) throw;
  return error.what();
} catch (const Error& error) {
  return error.what();
}

// "" where nothing is wrong with the newest, or no checkpoint tells what it was: then who reads it says so.
std::string MendConfig(const fs::path& run) {
  const fs::path newest = NewestConfigOf(run);
  const std::string problem = ConfigProblem(newest);
  if (problem.empty()) return "";
  for (const CheckpointEntry& entry : ListCheckpoints(run)) {
    try {
      const Manifest manifest = ReadManifest(entry.path);
      const auto config = manifest.facts.find("config");
      if (config == manifest.facts.end() || !config->is_object()) continue;
      const fs::path aside = RenameAside(newest, newest.filename().string());
      ReplaceFile(newest, JsonText(*config, 2) + "\n");
      return Printable(newest) + " is damaged: " + problem + "; it is now " + Printable(aside.filename()) +
             ", and the config that " + Printable(entry.path.filename()) +
             " was trained with takes its place";
    } catch (const Error& error) {
      if (!IsDamage(error)) throw;
    }
  }
  return "";
}

// What lies where a start writes a file of its own, and is no file.
std::vector<std::string> SetStrangersAside(const fs::path& run) {
  std::vector<std::string> words;
  for (const char* name : {kConsoleLog, "plan.json", "plan.txt", "profile.json", "weights.json"}) {
    const fs::path path = run / name;
    std::error_code ignored;
    const bool is_folder = TypeOf(path) == fs::file_type::directory;
    const bool leads_nowhere = TypeOf(path) == fs::file_type::symlink && !fs::exists(path, ignored);
    if (is_folder || leads_nowhere)
      words.push_back(Printable(path) + " is no file; it is now " +
                      RenameAside(path, name).filename().string());
  }
  return words;
}

bool AllAre(const ordered_json& list, bool (*is_good)(const ordered_json& item)) {
  return std::ranges::all_of(list, is_good);
}
bool IsText(const ordered_json& value) { return value.is_string(); }
bool IsListOfTexts(const ordered_json& value) { return value.is_array() && AllAre(value, IsText); }
bool HasTexts(const ordered_json& value) { return value.is_object() && AllAre(value, IsText); }
bool IsPlugin(const ordered_json& plugin) {
  const auto is = [&](const char* key, bool (*is_good)(const ordered_json& value)) {
    return !plugin.contains(key) || is_good(plugin.at(key));
  };
  return plugin.is_object() && is("path", IsText) && is("build_id", IsText) && is("tasks", IsListOfTexts) &&
         is("models", IsListOfTexts) && is("own", [](const ordered_json& own) { return own.is_boolean(); });
}

bool AreRules(const ordered_json& value) try {
  DataRules::Of(value);
  return true;
} catch (const NewerError&) {  // who goes by them refuses them
  return true;
} catch (const InputError&) {
  return false;
}

// Whether a part of a record has the form in which it is written; of others nothing is expected.
bool HasItsForm(const std::string& key, const ordered_json& value) {
  if (key == "inputs") return value.is_object() && AllAre(value, HasTexts);
  if (key == "plugins") return value.is_array() && AllAre(value, IsPlugin);
  if (key == "starts")
    return value.is_array() && AllAre(value, [](const ordered_json& start) { return start.is_object(); });
  if (key == "places") return HasTexts(value);
  if (key == "data_rules") return AreRules(value);
  if (key == "seed") return value.is_number_integer();
  if (key == "cpu" || key == "model" || key == "config") return value.is_string();
  return true;
}

// What of it is as it was written; null where nothing is, or it is not there. `problem`: what is wrong, ""
// for nothing.
ordered_json ReadRecordIn(const fs::path& path, std::string& problem) {
  if (TypeOf(path) == fs::file_type::not_found) return nullptr;
  ordered_json record;
  try {
    record = ReadJson(ReadSmallFile(path, kLargestJson), kRecordFile);
  } catch (const Error& error) {
    const auto* file = dynamic_cast<const FileError*>(&error);
    if (file != nullptr && file->number() != ELOOP && file->number() != ENXIO && file->number() != EISDIR)
      throw;
    problem = error.what();
    return nullptr;
  }
  if (!record.is_object()) {
    problem = "a JSON object was expected";
    return nullptr;
  }
  for (auto part = record.begin(); part != record.end();) {
    if (HasItsForm(part.key(), part.value())) {
      ++part;
      continue;
    }
    problem += (problem.empty() ? "" : ", ") + ("\"" + part.key() + "\" is not as it was written");
    part = record.erase(part);
  }
  return record;
}

std::string SetDamagedRecordAside(const fs::path& run) {
  std::string problem;
  const fs::path path = run / kRecordFile;
  const ordered_json rest = ReadRecordIn(path, problem);
  if (problem.empty()) return "";
  const fs::path aside = RenameAside(path, kRecordFile);
  if (rest.is_object()) ReplaceRunRecord(run, rest);
  return Printable(path) + " is damaged: " + problem + "; it is now " + Printable(aside.filename()) +
         ", and " +
         (rest.is_object()
              ? "what can be read of it goes on"
              : "the next one says what this start knows: not when the run was started and with "
                "what, so it cannot be repeated (--replay), nor what its files were, so they are "
                "not compared. Where you have a copy, stop this run and restore it");
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, std::unique_ptr<RunLock> lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

void RunDirectory::CheckFree(const fs::path& path) {
  if (!fs::exists(path)) return;
  if (!fs::is_directory(path))
    throw InputError(Printable(path) + " is not a directory; choose another --out");
  RunLock::Check(path);
  RefuseRun(path);
  RefuseLoss(path);
}

RunDirectory RunDirectory::Create(const fs::path& path) {
  MakeDirectories(path);
  auto lock = std::make_unique<RunLock>(path);
  RefuseRun(path);
  RemoveLeftovers(path);
  return RunDirectory(fs::canonical(path), std::move(lock));
}

RunDirectory RunDirectory::Open(const fs::path& path) {
  NewestConfigOf(path);
  SyncIntoParent(path);  // it may have been killed before it had done so itself
  auto lock = std::make_unique<RunLock>(path);
  RemoveLeftovers(path);
  RunDirectory opened(fs::canonical(path), std::move(lock));
  opened.mended_ = SetStrangersAside(opened.path());
  for (std::string words : {SetDamagedRecordAside(opened.path()), MendConfig(opened.path())})
    if (!words.empty()) opened.mended_.push_back(std::move(words));
  return opened;
}

void RunDirectory::RequireConfig() const {
  try {
    NewestConfigOf(path_);
  } catch (const InputError&) {
    throw Error(Printable(path_) +
                " has lost its config.resolved.json: somebody removed or moved files of the run while it was "
                "trained, and no resume goes on without it. Restore them from a copy, or start the run anew");
  }
}

fs::path RunDirectory::WriteConfig(const ordered_json& config) const {
  int n = 0;
  while (fs::exists(ConfigPath(path_, n)) || fs::exists(ConfigPath(path_, n + 1)))
    ++n;  // the first may be lost
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
  ReplaceRunRecord(path_, record);
}

fs::path NewestConfig(const fs::path& run) {
  fs::path newest = NewestConfigOf(run);
  if (const std::string problem = ConfigProblem(newest); !problem.empty())
    throw InputError(Printable(newest) + " is damaged: " + problem + ". medley resume " +
                     ShellWord(run.string()) +
                     " takes the config of the newest checkpoint for it; or restore it from a copy");
  return newest;
}

ordered_json ReadRunRecord(const fs::path& run) {
  std::string ignored;
  return ReadRunRecord(run, ignored);
}

ordered_json ReadRunRecord(const fs::path& run, std::string& problem) {
  ordered_json record = ReadRecordIn(run / kRecordFile, problem);
  if (!problem.empty()) problem = DisplayPath(run / kRecordFile) + " is damaged: " + problem;
  return record;
}

void ReplaceRunRecord(const fs::path& run, const ordered_json& record) {
  ReplaceFile(run / kRecordFile, JsonText(record, 2) + "\n");
}

void RecordEnd(const fs::path& run, std::int64_t step, RunEnd how, const std::string& why) {
  ordered_json record = ReadRunRecord(run);
  const auto starts = record.find("starts");
  if (starts == record.end() || !starts->is_array() || starts->empty() || !starts->back().is_object()) return;
  starts->back()["ended"] = {{"step", step}, {"how", EnumName(how)}, {"why", why}, {"time", TimeStamp()}};
  ReplaceRunRecord(run, record);
}

std::optional<RunEnd> EndOfRun(const json& ended) {
  const auto has = [&](const char* key) { return ended.is_object() && ended.contains(key); };
  if (!has("step") || !ended["step"].is_number_integer()) return std::nullopt;
  if (!has("how")) return RunEnd::kEnded;
  for (const RunEnd how : {RunEnd::kEnded, RunEnd::kStopped, RunEnd::kFailed}) {
    if (ended["how"] == EnumName(how)) return how;
  }
  return std::nullopt;
}

fs::path FreePath(const fs::path& path) {
  fs::path free = path;
  for (int n = 2; fs::exists(free); ++n) free = path.string() + "-" + std::to_string(n);
  return free;
}

fs::path DefaultRunPath(const fs::path& config) {
  return FreePath(fs::path("runs") / (config.stem().string() + "-" + TimeForName()));
}

}  // namespace medley
