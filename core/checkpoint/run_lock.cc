#include <medley/checkpoint/run_lock.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include <medley/base/clock.h>
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

// A plain file's descriptor, never waiting for the other end of a pipe; < 0 and errno where it cannot be
// opened.
int OpenLock(const std::filesystem::path& path, int flags) {
  int fd = -1;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  while (fd < 0 && errno == EINTR);
  struct stat info {};
  const bool other =
      fd >= 0 ? ::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode) : errno == ELOOP || errno == EISDIR;
  if (!other) return fd;
  if (fd >= 0) ::close(fd);
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

RunLock::RunLock(const std::filesystem::path& directory) : path_(directory / "run.lock") {
  fd_ = OpenLock(path_, O_RDWR | O_CREAT);
  if (fd_ < 0) ThrowFileError("open", path_, errno);
  try {
    Take(fd_, LOCK_EX, path_);
  } catch (...) {
    ::close(fd_);
    throw;
  }
  if (const std::string old = ReadHolder(fd_); !old.empty()) took_over_ = DescribeHolder(old);
  const json holder = {
      {"pid", ::getpid()}, {"host", HostName()}, {"boot_id", BootId()}, {"started", TimeStamp()}};
  const std::string text = JsonText(holder) + "\n";
  // The words are for people; the lock itself does not depend on them, so a full disk is no reason to stop
  // here.
  if (::ftruncate(fd_, 0) == 0 && ::pwrite(fd_, text.data(), text.size(), 0) < 0) return;
}

void RunLock::Check(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "run.lock";
  const int fd = OpenLock(path, O_RDONLY);
  if (fd < 0 && errno == ENOENT) return;
  if (fd < 0) ThrowFileError("open", path, errno);
  try {
    Take(fd, LOCK_SH, path);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
}

RunLock::~RunLock() {
  if (fd_ < 0) return;
  if (::ftruncate(fd_, 0) != 0) took_over_.clear();  // the next holder then reports a stale lock: harmless
  ::close(fd_);
}

}  // namespace medley
