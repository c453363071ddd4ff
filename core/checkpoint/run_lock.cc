#include <medley/checkpoint/run_lock.h>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include <medley/base/clock.h>
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

// An object, whoever wrote that.
json HolderIn(const std::string& text) {
  try {
    if (json holder = ReadJson<json>(text, "run.lock"); holder.is_object()) return holder;
  } catch (const InputError&) {
  }
  return json::object();
}

std::string TextOf(const json& holder, const char* key, const char* unknown = "") {
  const auto value = holder.find(key);
  return value != holder.end() && value->is_string() ? value->get<std::string>() : unknown;
}

std::string DescribeHolder(const std::string& text) {
  const json holder = HolderIn(text);
  if (holder.empty()) return "an unknown process";
  const auto pid = holder.find("pid");
  const bool has_pid = pid != holder.end() && pid->is_number_integer();
  std::string words = (has_pid ? "process " + JsonText(*pid) : "an unknown process") + " on " +
                      TextOf(holder, "host", "an unknown host") + ", started " +
                      TextOf(holder, "started", "at an unknown time");
  if (TextOf(holder, "boot_id") != BootId()) words += " (in another boot)";
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

// False where another process has it.
bool TryToTake(int fd, int how, const std::filesystem::path& path) {
  int result = 0;
  do result = ::flock(fd, how | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno != EWOULDBLOCK) ThrowFileError("lock", path, errno);
  return result == 0;
}

// `how`: LOCK_EX or LOCK_SH. InputError where another process holds it.
void Take(int fd, int how, const std::filesystem::path& path) {
  constexpr int kTries = 10;  // who only looks has it for some microseconds
  for (int i = 0; i < kTries; ++i) {
    if (TryToTake(fd, how, path)) return;
    if (how == LOCK_EX) ::usleep(10'000);
  }
  throw InputError(Printable(path.parent_path()) + " is in use by " + DescribeHolder(ReadHolder(fd)) +
                   ". Wait for it, stop it, or choose another --out");
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

RunHolder HolderOf(const std::filesystem::path& run) {
  const std::filesystem::path path = run / "run.lock";
  const Descriptor file = OpenLock(path, O_RDONLY);
  if (!file.ok() && errno == ENOENT) return {};
  if (!file.ok()) ThrowFileError("open", path, errno);
  const std::string text = ReadHolder(file.get());
  if (text.empty()) return {};
  const json holder = HolderIn(text);
  return {.state = TryToTake(file.get(), LOCK_SH, path) ? RunHolder::State::kLost : RunHolder::State::kHolds,
          .host = TextOf(holder, "host"),
          .started = TextOf(holder, "started")};
}

}  // namespace medley
