#include <medley/base/durable_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <medley/base/error.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// A descriptor that is closed at the end of the scope; for reading, where close can lose nothing.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

int OpenRetrying(const fs::path& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

FileError::~FileError() = default;

void ThrowFileError(std::string_view doing, const fs::path& path, int error_number) {
  const std::string words = std::generic_category().message(error_number);
  throw FileError("cannot " + std::string(doing) + " " + path.string() + ": " + words, error_number);
}

void WriteAll(int fd, const void* data, std::size_t size, const fs::path& path) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) ThrowFileError("write", path, errno);
    if (written == 0) ThrowFileError("write", path, ENOSPC);
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void SyncFile(int fd, const fs::path& path) {
  int result = 0;
  do result = ::fsync(fd);
  while (result != 0 && errno == EINTR);
  if (result != 0) ThrowFileError("sync", path, errno);
}

NewFile::NewFile(fs::path path, std::int64_t expected_bytes) : path_(std::move(path)) {
  fd_ = OpenRetrying(path_, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (fd_ < 0) ThrowFileError("create", path_, errno);
  if (expected_bytes <= 0) return;
  int error = 0;
  do error = ::posix_fallocate(fd_, 0, expected_bytes);
  while (error == EINTR);
  const bool unsupported = error == EOPNOTSUPP || error == EINVAL || error == ENOSYS;
  if (error != 0 && !unsupported) {
    ::close(fd_);
    fd_ = -1;
    ThrowFileError("reserve room for", path_, error);
  }
}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
}

void NewFile::Write(const void* data, std::size_t size) { WriteAll(fd_, data, size, path_); }

void NewFile::Commit() {
  // What was reserved beyond what was written must not stay as zeros.
  const off_t end = ::lseek(fd_, 0, SEEK_CUR);
  if (end < 0) ThrowFileError("seek in", path_, errno);
  int result = 0;
  do result = ::ftruncate(fd_, end);
  while (result != 0 && errno == EINTR);
  if (result != 0) ThrowFileError("set the length of", path_, errno);
  SyncFile(fd_, path_);
  // Linux frees the descriptor whatever close says, so it is never called twice.
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) ThrowFileError("close", path_, errno);
}

void SyncDirectory(const fs::path& directory) {
  const Descriptor file{OpenRetrying(directory, O_RDONLY | O_DIRECTORY)};
  if (file.fd < 0) ThrowFileError("open", directory, errno);
  SyncFile(file.fd, directory);
}

void RenameNoReplace(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) ThrowFileError("rename " + from.string() + " to", to, errno);
  // Some filesystems lack the flag. The run's lock makes us the only writer, so looking first is enough.
  struct stat info {};
  if (::lstat(to.c_str(), &info) == 0) ThrowFileError("rename " + from.string() + " to", to, EEXIST);
  if (::rename(from.c_str(), to.c_str()) != 0) ThrowFileError("rename " + from.string() + " to", to, errno);
}

fs::path RenameAside(const fs::path& path, const std::string& name) {
  for (int i = 1;; ++i) {
    const fs::path aside = path.parent_path() / (name + ".damaged-" + std::to_string(i));
    try {
      RenameNoReplace(path, aside);
      return aside;
    } catch (const FileError& error) {
      if (error.number() != EEXIST) throw;
    }
  }
}

std::vector<fs::path> ListDirectory(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (auto entry = fs::directory_iterator(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    paths.push_back(entry->path());
  if (error) ThrowFileError("list", directory, error.value());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void ReplaceFile(const fs::path& path, std::string_view contents) {
  const fs::path aside =
      path.parent_path() / (".tmp-" + path.filename().string() + "-" + std::to_string(::getpid()));
  ::unlink(aside.c_str());
  try {
    NewFile file(aside);
    file.Write(contents.data(), contents.size());
    file.Commit();
    if (::rename(aside.c_str(), path.c_str()) != 0) ThrowFileError("replace", path, errno);
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
  SyncDirectory(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

std::string ReadSmallFile(const fs::path& path, std::int64_t limit) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const Descriptor file{OpenRetrying(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)};
  if (file.fd < 0) ThrowFileError("open", path, errno);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) ThrowFileError("look at", path, errno);
  if (!S_ISREG(info.st_mode)) throw Error(path.string() + " is not a plain file");
  if (info.st_size > limit) {
    throw Error(path.string() + " has " + std::to_string(info.st_size) + " bytes, at most " +
                std::to_string(limit) + " are expected");
  }
  std::string contents(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t have = 0;
  while (have < contents.size()) {
    const ssize_t got = ::read(file.fd, contents.data() + have, contents.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowFileError("read", path, errno);
    if (got == 0) throw Error(path.string() + " became shorter while it was read");
    have += static_cast<std::size_t>(got);
  }
  return contents;
}

std::int64_t FreeBytes(const fs::path& directory) {
  struct statvfs info {};
  int result = 0;
  do result = ::statvfs(directory.c_str(), &info);
  while (result != 0 && errno == EINTR);
  if (result != 0) ThrowFileError("ask for the free space of", directory, errno);
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

}  // namespace medley
