#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace medley {

// The bytes of a plain file in the address space: read from the disk when they are first touched, shared with
// every process that maps it. Writing to them changes this process's copy alone. The file must not get
// shorter meanwhile: touching what is gone is a SIGBUS, which InstallCrashWords makes an end with the file's
// name. A FileError with the path where it cannot be mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_; }  // at the beginning of a page; null for an empty file
  std::int64_t size() const { return size_; }

  struct Mapping;  // where it lies, which the process keeps

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  Mapping* place_ = nullptr;
};

// The path of the mapped file that has this address; "" where none has. Safe in a signal handler.
std::string_view MappedPathAt(const void* address) noexcept;

}  // namespace medley
