#include <medley/checkpoint/run_directory.h>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <medley/base/clock.h>
#include <medley/base/descriptor.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/machine.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

using nlohmann::json;

std::string ReadHolder(int fd) {
  std::string text(4096, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::string DescribeHolder(const std::string& text) {
  json holder;
  try {
    holder = ReadJson<json>(text, "run.lock");
  } catch (const InputError&) {  // whoever wrote that
  }
  if (!holder.is_object()) return "an unknown process";
  const auto text_of = [&](const char* key, const char* unknown) -> std::string {
    const auto value = holder.find(key);
    return value != holder.end() && value->is_string() ? value->get<std::string>() : unknown;
  };
  const auto pid = holder.find("pid");
  const bool has_pid = pid != holder.end() && pid->is_number_integer();
  std::string words = (has_pid ? "process " + JsonText(*pid) : "an unknown process") + " on " +
                      text_of("host", "an unknown host") + ", started " +
                      text_of("started", "at an unknown time");
  if (text_of("boot_id", "") != BootId()) words += " (in another boot)";
  return words;
}

// A plain file, never waiting for the other end of a pipe; not ok, and errno, where it cannot be opened.
Descriptor OpenLock(const std::filesystem::path& path, int flags) {
  Descriptor file(path, flags | kPlainOnly);
  struct stat info {};
  const bool other = file.ok() ? ::fstat(file.get(), &info) == 0 && !S_ISREG(info.st_mode)
                               : errno == ELOOP || errno == EISDIR;
  if (!other) return file;
  throw InputError(Printable(path) + " is no plain file; expected the run's lock: move it away");
}

// `how`: LOCK_EX or LOCK_SH. InputError where another process holds it.
void Take(int fd, int how, const std::filesystem::path& path) {
  int result = 0;
  do result = ::flock(fd, how | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return;
  if (errno != EWOULDBLOCK) ThrowFileError("lock", path, errno);
  throw InputError(Printable(path.parent_path()) + " is in use by " + DescribeHolder(ReadHolder(fd)) +
                   ". Wait for it, stop it, or choose another --out");
}

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
  throw InputError(Printable(path) + " already holds a run. To go on with it: medley resume " +
                   Printable(path) + ". To start anew: choose another --out");
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

}  // namespace

RunLock::RunLock(const std::filesystem::path& directory)
    : path_(directory / "run.lock"), file_(OpenLock(path_, O_RDWR | O_CREAT)) {
  if (!file_.ok()) ThrowFileError("open", path_, errno);
  Take(file_.get(), LOCK_EX, path_);
  if (const std::string old = ReadHolder(file_.get()); !old.empty()) took_over_ = DescribeHolder(old);
  const json holder = {
      {"pid", ::getpid()}, {"host", HostName()}, {"boot_id", BootId()}, {"started", TimeStamp()}};
  const std::string text = JsonText(holder) + "\n";
  // The words are for people; the lock itself does not depend on them, so a full disk is no reason to stop
  // here.
  if (::ftruncate(file_.get(), 0) == 0 && ::pwrite(file_.get(), text.data(), text.size(), 0) < 0) return;
}

void RunLock::Check(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "run.lock";
  const Descriptor file = OpenLock(path, O_RDONLY);
  if (!file.ok() && errno == ENOENT) return;
  if (!file.ok()) ThrowFileError("open", path, errno);
  Take(file.get(), LOCK_SH, path);
}

RunLock::~RunLock() {
  // Where it cannot be emptied, the next holder reports a stale lock: harmless.
  if (file_.ok() && ::ftruncate(file_.get(), 0) != 0) took_over_.clear();
}

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
  ReplaceRunRecord(path_, record);
}

fs::path NewestConfig(const fs::path& run) {
  if (const std::string problem = DirectoryProblem(run); !problem.empty())
    throw InputError(problem + "; a run directory is expected");
  if (!fs::exists(ConfigPath(run, 0))) {
    throw InputError(Printable(run) +
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
  if (!record.is_object()) throw InputError(Printable(path) + " is damaged: a JSON object was expected");
  return record;
}

void ReplaceRunRecord(const fs::path& run, const ordered_json& record) {
  ReplaceFile(run / "run.json", JsonText(record, 2) + "\n");
}

void RecordEnd(const fs::path& run, std::int64_t step, const std::string& why) {
  ordered_json record = ReadRunRecord(run);
  const auto starts = record.find("starts");
  if (starts == record.end() || !starts->is_array() || starts->empty() || !starts->back().is_object()) return;
  starts->back()["ended"] = {{"step", step}, {"why", why}};
  ReplaceRunRecord(run, record);
}

fs::path DefaultRunPath(const fs::path& config) {
  const fs::path base = fs::path("runs") / (config.stem().string() + "-" + TimeForName());
  fs::path path = base;
  for (int n = 2; fs::exists(path); ++n) path = base.string() + "-" + std::to_string(n);
  return path;
}

}  // namespace medley
