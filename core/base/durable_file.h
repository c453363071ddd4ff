#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/descriptor.h>
#include <medley/base/error.h>

namespace medley {

// Small steps of file work whose every return value is checked: EINTR and short writes are loops, and
// whatever else goes wrong is an Error with the path and the system's words. What "durable" means rests on a
// disk that honours fsync.

// A file that is written once: created exclusively, so that a committed file is never opened for writing.
class NewFile {
 public:
  // Reserves `expected_bytes` where the filesystem can, so that a full disk shows before anything is written.
  explicit NewFile(std::filesystem::path path, std::int64_t expected_bytes = 0);
  // A file without Commit is left for its directory's owner to remove.

  void Write(const void* data, std::size_t size);
  // fsync and close. A failed fsync is final: the kernel may have dropped the pages, asking again proves
  // nothing.
  void Commit();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

// What the system said to a file operation: who reads a file can tell a missing one from a disk in trouble.
class FileError : public Error {
 public:
  FileError(const std::string& message, int number) : Error(message), number_(number) {}
  ~FileError() override;

  int number() const { return number_; }  // errno

 private:
  int number_;
};
[[noreturn]] void ThrowFileError(std::string_view doing, const std::filesystem::path& path, int error_number);

// Writes all of it or throws; returns only then.
void WriteAll(int fd, const void* data, std::size_t size, const std::filesystem::path& path);
// Sets the length of an open file; syncs one, or the entries of a directory. Each is done when it returns, or
// throws a FileError.
void SetLength(int fd, std::int64_t bytes, const std::filesystem::path& path);
void SyncFile(int fd, const std::filesystem::path& path);
void SyncDirectory(const std::filesystem::path& directory);
// An error where `to` is already there, be it an empty directory.
void RenameNoReplace(const std::filesystem::path& from, const std::filesystem::path& to);
// Each gets the other's name, as one act. FileError with EINVAL or ENOSYS where the file system cannot.
void Exchange(const std::filesystem::path& a, const std::filesystem::path& b);
// Renames what was damaged to the first free `<name>.damaged-<n>` beside it, and returns that.
std::filesystem::path RenameAside(const std::filesystem::path& path, const std::string& name);
// The same name as a second one of a file, or the only one where the file system knows no second.
std::filesystem::path LinkAside(const std::filesystem::path& path, const std::string& name);
// What lies there itself, not what a link points to; `not_found` where nothing does.
std::filesystem::file_type TypeOf(const std::filesystem::path& path);
// Removes it with all that is below; does nothing where it is not there.
void RemoveAll(const std::filesystem::path& path);
// Makes what is missing of it. Not synced: for what can be made again.
void CreateDirectories(const std::filesystem::path& directory);
// What lies in it, sorted.
std::vector<std::filesystem::path> ListDirectory(const std::filesystem::path& directory);
// Replaces a file as a whole: after a crash either the old or the new one is there.
void ReplaceFile(const std::filesystem::path& path, std::string_view contents);
void ReplaceFile(const std::filesystem::path& path, const std::function<void(NewFile&)>& write);
// Plain files only (no link, no pipe), of at most `limit` bytes.
std::string ReadSmallFile(const std::filesystem::path& path, std::int64_t limit);
// Bytes that an unprivileged writer can still use there.
std::int64_t FreeBytes(const std::filesystem::path& directory);

}  // namespace medley
