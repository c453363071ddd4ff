#pragma once

#include <filesystem>

namespace medley {

// A file or a directory that is gone with the process, also where a signal ends it at once (LeaveAtSignals):
// what is written before it gets its name, scratch. Who made it removes it; this is for whom nobody asks.
class PassingFile {
 public:
  explicit PassingFile(const std::filesystem::path& path) noexcept;
  ~PassingFile();
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;

 private:
  int slot_ = -1;  // < 0: there are too many, and nobody would remove it
};

// Removes all that are there. In a signal handler too.
void RemovePassingFiles() noexcept;

}  // namespace medley
