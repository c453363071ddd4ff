#include <medley/checkpoint/run_lock.h>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include <medley/base/clock.h>
#include <medley/base/descriptor.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>

namespace medley {
namespace {

using nlohmann::json;

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// Changes with every start of the machine: a process number of another boot says nothing.
std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return std::getline(file, id) ? id : "unknown";
}

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
  throw InputError(path.string() + " is no plain file; expected the run's lock: move it away");
}

// `how`: LOCK_EX or LOCK_SH. InputError where another process holds it.
void Take(int fd, int how, const std::filesystem::path& path) {
  int result = 0;
  do result = ::flock(fd, how | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return;
  if (errno != EWOULDBLOCK) ThrowFileError("lock", path, errno);
  throw InputError(path.parent_path().string() + " is in use by " + DescribeHolder(ReadHolder(fd)) +
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

}  // namespace medley
