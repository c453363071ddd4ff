#include <medley/base/append_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>

namespace medley {

AppendFile::AppendFile(std::filesystem::path path, std::int64_t keep_bytes) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd_ < 0) ThrowFileError("open", path_, errno);
  struct stat info {};
  if (::fstat(fd_, &info) != 0) ThrowFileError("look at", path_, errno);
  if (info.st_size < keep_bytes) {
    throw Error(path_.string() + " has " + std::to_string(info.st_size) +
                " bytes, but the checkpoint was saved after " + std::to_string(keep_bytes) +
                "; the log was damaged");
  }
  if (::ftruncate(fd_, keep_bytes) != 0) ThrowFileError("shorten", path_, errno);
  if (::lseek(fd_, keep_bytes, SEEK_SET) < 0) ThrowFileError("seek in", path_, errno);
  offset_ = keep_bytes;
}

AppendFile::~AppendFile() {
  WritePending();
  if (fd_ >= 0) ::close(fd_);
}

int AppendFile::WritePending() {
  std::size_t done = 0;
  int error = 0;
  while (done < pending_.size() && error == 0) {
    const ssize_t written = ::write(fd_, pending_.data() + done, pending_.size() - done);
    if (written > 0) done += static_cast<std::size_t>(written);
    if (written == 0) error = ENOSPC;
    if (written < 0 && errno != EINTR) error = errno;
  }
  offset_ += static_cast<std::int64_t>(done);
  pending_.erase(0, done);
  return error;
}

void AppendFile::Append(std::string_view text) {
  pending_ += text;
  WritePending();
}

void AppendFile::Sync() {
  if (const int error = WritePending()) ThrowFileError("write", path_, error);
  SyncFile(fd_, path_);
}

}  // namespace medley
