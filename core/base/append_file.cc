#include <medley/base/append_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// Never follows a link, never waits for the other end of a pipe.
int OpenLog(const fs::path& path, int flags) {
  int fd = -1;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  while (fd < 0 && errno == EINTR);
  return fd;
}

void Shorten(int fd, std::int64_t bytes, const fs::path& path) {
  int result = 0;
  do result = ::ftruncate(fd, bytes);
  while (result != 0 && errno == EINTR);
  if (result != 0) ThrowFileError("shorten", path, errno);
}

using Take = std::function<void(const char*, std::size_t)>;

// The first `bytes` of an open file, in pieces; an Error where it has fewer.
void ReadFirst(int fd, std::int64_t bytes, const fs::path& path, const Take& take) {
  std::vector<char> piece(static_cast<std::size_t>(std::clamp<std::int64_t>(bytes, 1, 1 << 20)));
  for (std::int64_t at = 0; at < bytes;) {
    const auto size = std::min(piece.size(), static_cast<std::size_t>(bytes - at));
    const ssize_t got = ::pread(fd, piece.data(), size, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowFileError("read", path, errno);
    if (got == 0) throw Error(path.string() + " became shorter while it was read");
    take(piece.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

// A plain file's size; < 0 where it is none.
std::int64_t SizeOf(int fd, const fs::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) ThrowFileError("look at", path, errno);
  return S_ISREG(info.st_mode) ? static_cast<std::int64_t>(info.st_size) : -1;
}

std::string Shorter(std::int64_t size, std::int64_t bytes) {
  return "has " + std::to_string(size) + " bytes, but the checkpoint was saved after " +
         std::to_string(bytes);
}

}  // namespace

std::string MarkProblem(const fs::path& path, const LogMark& mark) {
  struct Closer {
    int fd;
    ~Closer() {
      if (fd >= 0) ::close(fd);
    }
  } const file{OpenLog(path, O_RDONLY)};
  if (file.fd < 0 && errno == ENOENT) return mark.bytes == 0 ? "" : "is missing";
  if (file.fd < 0 && (errno == ELOOP || errno == ENXIO)) return "is no plain file";
  if (file.fd < 0) ThrowFileError("open", path, errno);
  const std::int64_t size = SizeOf(file.fd, path);
  if (size < 0) return "is no plain file";
  if (size < mark.bytes) return Shorter(size, mark.bytes);
  if (mark.xxh3_128.empty()) return "";
  RunningSum sum;
  ReadFirst(file.fd, mark.bytes, path, [&](const char* data, std::size_t n) { sum.Add(data, n); });
  if (sum.Hex() == mark.xxh3_128) return "";
  return "was damaged: its first " + std::to_string(mark.bytes) +
         " bytes are not those that the checkpoint was saved after";
}

AppendFile::AppendFile(fs::path path, std::int64_t keep_bytes) : path_(std::move(path)) {
  fd_ = OpenLog(path_, O_RDWR | O_CREAT);
  if (fd_ < 0) ThrowFileError("open", path_, errno);
  try {
    Open(keep_bytes);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

void AppendFile::Open(std::int64_t keep_bytes) {
  const std::int64_t size = SizeOf(fd_, path_);
  if (size < 0) throw Error(path_.string() + " is no plain file; move it away");
  if (size < keep_bytes)
    throw Error(path_.string() + " " + Shorter(size, keep_bytes) + "; the log was damaged");
  ReadFirst(fd_, keep_bytes, path_, [&](const char* data, std::size_t n) { sum_.Add(data, n); });
  Shorten(fd_, keep_bytes, path_);
  if (::lseek(fd_, keep_bytes, SEEK_SET) < 0) ThrowFileError("seek in", path_, errno);
  offset_ = keep_bytes;
}

AppendFile::~AppendFile() {
  WritePending();
  if (fd_ >= 0) ::close(fd_);
}

void AppendFile::WritePending() {
  std::size_t done = 0;
  error_ = 0;
  while (done < pending_.size() && error_ == 0) {
    const ssize_t written = ::write(fd_, pending_.data() + done, pending_.size() - done);
    if (written > 0) done += static_cast<std::size_t>(written);
    if (written == 0) error_ = ENOSPC;
    if (written < 0 && errno != EINTR) error_ = errno;
  }
  sum_.Add(pending_.data(), done);
  offset_ += static_cast<std::int64_t>(done);
  pending_.erase(0, done);
}

void AppendFile::Append(std::string_view text) {
  pending_ += text;
  WritePending();
}

void AppendFile::Sync() {
  WritePending();
  if (error_ != 0) ThrowFileError("write", path_, error_);
  if (doubtful_) WriteAnew();
  doubtful_ = true;
  SyncFile(fd_, path_);
  doubtful_ = false;
}

// A failed fsync leaves pages that the kernel dropped, or calls clean: asking again proves nothing.
void AppendFile::WriteAnew() {
  const fs::path aside =
      path_.parent_path() / (".tmp-" + path_.filename().string() + "-" + std::to_string(::getpid()));
  ::unlink(aside.c_str());
  try {
    NewFile copy(aside);
    RunningSum sum;
    ReadFirst(fd_, offset_, path_, [&](const char* data, std::size_t size) {
      sum.Add(data, size);
      copy.Write(data, size);
    });
    if (sum.Hex() != sum_.Hex())
      throw Error(path_.string() + " lost bytes that were written, when it could not be synced");
    copy.Commit();
    if (::rename(aside.c_str(), path_.c_str()) != 0) ThrowFileError("replace", path_, errno);
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
  const int fd = OpenLog(path_, O_RDWR);
  if (fd < 0) ThrowFileError("open", path_, errno);
  ::close(std::exchange(fd_, fd));
  if (::lseek(fd_, offset_, SEEK_SET) < 0) ThrowFileError("seek in", path_, errno);
  SyncDirectory(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
}

}  // namespace medley
