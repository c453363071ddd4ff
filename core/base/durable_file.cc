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

#include <medley/base/input_file.h>
#include <medley/base/passing_files.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// The call's result, asked again where a signal came between.
template <typename Call>
int Retry(const Call& call) {
  int result = 0;
  do result = call();
  while (result != 0 && errno == EINTR);
  return result;
}

// To the first name of its kind that is free.
template <typename Name>
fs::path Aside(const fs::path& path, const std::string& name, const Name& give) {
  for (int i = 1;; ++i) {
    const fs::path aside = path.parent_path() / (name + ".damaged-" + std::to_string(i));
    try {
      give(aside);
      return aside;
    } catch (const FileError& error) {
      if (error.number() != EEXIST) throw;
    }
  }
}

}  // namespace

FileError::~FileError() = default;

void ThrowFileError(std::string_view doing, const fs::path& path, int error_number) {
  const std::string words = std::generic_category().message(error_number);
  throw FileError("cannot " + std::string(doing) + " " + Printable(path) + ": " + words, error_number);
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
  if (Retry([&] { return ::fsync(fd); }) != 0) ThrowFileError("sync", path, errno);
}

void SetLength(int fd, std::int64_t bytes, const fs::path& path) {
  if (Retry([&] { return ::ftruncate(fd, bytes); }) != 0) ThrowFileError("set the length of", path, errno);
}

NewFile::NewFile(fs::path path, std::int64_t expected_bytes)
    : path_(std::move(path)), file_(path_, O_WRONLY | O_CREAT | O_EXCL) {
  if (!file_.ok()) ThrowFileError("create", path_, errno);
  if (expected_bytes <= 0) return;
  int error = 0;
  do error = ::posix_fallocate(file_.get(), 0, expected_bytes);
  while (error == EINTR);
  const bool unsupported = error == EOPNOTSUPP || error == EINVAL || error == ENOSYS;
  if (error != 0 && !unsupported) ThrowFileError("reserve room for", path_, error);
}

void NewFile::Write(const void* data, std::size_t size) { WriteAll(file_.get(), data, size, path_); }

void NewFile::Commit() {
  // What was reserved beyond what was written must not stay as zeros.
  const off_t end = ::lseek(file_.get(), 0, SEEK_CUR);
  if (end < 0) ThrowFileError("seek in", path_, errno);
  SetLength(file_.get(), end, path_);
  SyncFile(file_.get(), path_);
  if (file_.Close() != 0 && errno != EINTR) ThrowFileError("close", path_, errno);
}

void SyncDirectory(const fs::path& directory) {
  const Descriptor file(directory, O_RDONLY | O_DIRECTORY);
  if (!file.ok()) ThrowFileError("open", directory, errno);
  SyncFile(file.get(), directory);
}

void RenameNoReplace(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) ThrowFileError("rename " + Printable(from) + " to", to, errno);
  // Some filesystems lack the flag. The run's lock makes us the only writer, so looking first is enough.
  struct stat info {};
  if (::lstat(to.c_str(), &info) == 0) ThrowFileError("rename " + Printable(from) + " to", to, EEXIST);
  if (::rename(from.c_str(), to.c_str()) != 0) ThrowFileError("rename " + Printable(from) + " to", to, errno);
}

void Exchange(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0)
    ThrowFileError("exchange " + Printable(a) + " with", b, errno);
}

fs::path RenameAside(const fs::path& path, const std::string& name) {
  return Aside(path, name, [&](const fs::path& aside) { RenameNoReplace(path, aside); });
}

fs::path LinkAside(const fs::path& path, const std::string& name) {
  return Aside(path, name, [&](const fs::path& aside) {
    if (::link(path.c_str(), aside.c_str()) == 0) return;
    const bool knows_none = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK;
    if (!knows_none) ThrowFileError("link " + Printable(path) + " to", aside, errno);
    RenameNoReplace(path, aside);
  });
}

fs::file_type TypeOf(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path, error).type();
  if (type == fs::file_type::none) ThrowFileError("look at", path, error.value());
  return type;
}

void RemoveAll(const fs::path& path) {
  std::error_code error;
  do fs::remove_all(path, error);
  while (error == std::errc::interrupted);
  if (error) ThrowFileError("remove", path, error.value());
}

void CreateDirectories(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) ThrowFileError("make the directory", directory, error.value());
}

std::vector<fs::path> ListDirectory(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  do {
    paths.clear();
    for (auto entry = fs::directory_iterator(directory, error); !error && entry != fs::directory_iterator();
         entry.increment(error))
      paths.push_back(entry->path());
  } while (error == std::errc::interrupted);
  if (error) ThrowFileError("list", directory, error.value());
  std::ranges::sort(paths);
  return paths;
}

void ReplaceFile(const fs::path& path, std::string_view contents) {
  ReplaceFile(path, [&](NewFile& file) { file.Write(contents.data(), contents.size()); });
}

void ReplaceFile(const fs::path& path, const std::function<void(NewFile&)>& write) {
  const fs::path aside =
      path.parent_path() / (".tmp-" + path.filename().string() + "-" + std::to_string(::getpid()));
  ::unlink(aside.c_str());
  const PassingFile passing(aside);
  try {
    NewFile file(aside);
    write(file);
    file.Commit();
    if (::rename(aside.c_str(), path.c_str()) != 0) ThrowFileError("replace", path, errno);
  } catch (...) {
    ::unlink(aside.c_str());
    throw;
  }
  SyncDirectory(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

std::string ReadSmallFile(const fs::path& path, std::int64_t limit) {
  const InputFile file(path, InputFile::Links::kRefuse);
  if (!file.is_plain()) throw Error(Printable(path) + " is not a plain file");
  if (file.size() > limit) {
    throw Error(Printable(path) + " has " + std::to_string(file.size()) + " bytes, at most " +
                std::to_string(limit) + " are expected");
  }
  std::string contents(static_cast<std::size_t>(file.size()), '\0');
  if (file.Read(0, contents.data(), contents.size()) < contents.size())
    throw Error(Printable(path) + " became shorter while it was read");
  return contents;
}

std::int64_t FreeBytes(const fs::path& directory) {
  struct statvfs info {};
  if (Retry([&] { return ::statvfs(directory.c_str(), &info); }) != 0)
    ThrowFileError("ask for the free space of", directory, errno);
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

}  // namespace medley
