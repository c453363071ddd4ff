#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include <medley/base/descriptor.h>

namespace medley {

// A file that is read: EINTR and short reads are loops, and what else goes wrong is a FileError with the path
// and the system's words, which no std::ifstream tells. Opening never waits for the other end of a pipe.
class InputFile {
 public:
  enum class Links { kFollow, kRefuse };
  explicit InputFile(std::filesystem::path path, Links links = Links::kFollow);

  bool is_plain() const { return S_ISREG(info_.st_mode); }
  std::int64_t size() const { return static_cast<std::int64_t>(info_.st_size); }  // when it was opened
  std::int64_t modified_ns() const { return Nanoseconds(info_.st_mtim); }
  std::int64_t changed_ns() const { return Nanoseconds(info_.st_ctim); }  // its name, owner or mode too
  // Whether this is what was opened, and nobody wrote to it since.
  bool Is(const struct stat& now) const;
  // The bytes from `offset` on; returns how many there were: fewer than `size` only where the file ends.
  std::size_t Read(std::int64_t offset, void* data, std::size_t size) const;

 private:
  static std::int64_t Nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  std::filesystem::path path_;
  Descriptor file_;
  struct stat info_ {};
};

}  // namespace medley
