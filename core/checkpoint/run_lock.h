#pragma once

#include <filesystem>
#include <string>

#include <medley/base/descriptor.h>

namespace medley {

// One process a run directory: flock on run.lock, held for the life of the object. The kernel lets go at
// death, so a lock can be stale only in its words; `took_over` then says whose it was.
class RunLock {
 public:
  // InputError with the holder's process, host and start where another one holds it.
  explicit RunLock(const std::filesystem::path& directory);
  ~RunLock();
  // The same refusal, without a trace in the directory; nothing where there is no lock file.
  static void Check(const std::filesystem::path& directory);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // "": the last holder left in good order.
  const std::string& took_over() const { return took_over_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::string took_over_;
};

// What the lock of a run tells who only looks.
struct RunHolder {
  enum class State { kNone, kHolds, kLost };  // kLost: it is gone, and did not leave in good order
  State state = State::kNone;
  std::string host = {}, started = {};  // of who holds it; "": it does not say
};
// Leaves no trace, and keeps nobody out. An InputError where the lock cannot be read.
RunHolder HolderOf(const std::filesystem::path& run);

}  // namespace medley
