#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace medley {

// A log that a checkpoint can point into: lines are appended, made durable by Sync, and cut back to a
// committed offset at a resume.
//
// A full disk does not end a run: lines that cannot be written wait in memory and are tried again with the
// next one. Only Sync insists, so it is the save that fails then, not the step.
class AppendFile {
 public:
  // Opens or creates; bytes beyond `keep_bytes` are cut off. An Error where the file is shorter than that.
  AppendFile(std::filesystem::path path, std::int64_t keep_bytes);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void Append(std::string_view text);
  // Returns once everything is on the disk; then offset() may be recorded.
  void Sync();
  // The durable end of the file if Sync was the last call.
  std::int64_t offset() const { return offset_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  int WritePending();  // 0 or the error number

  std::filesystem::path path_;
  int fd_ = -1;
  std::int64_t offset_ = 0;
  std::string pending_;
};

}  // namespace medley
