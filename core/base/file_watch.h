#pragma once

#include <filesystem>
#include <string>

#include <medley/base/descriptor.h>

namespace medley {

// Changes with the file, whoever changes it: of its number, size and times. "" where there is none.
std::string LookOf(const std::filesystem::path& file);

// Notices that a file may have changed, however that was done: written in place, replaced, removed and made
// anew. By inotify on its directory; where the system has none left, or the file system knows nothing of it,
// by looking at the file.
class FileWatch {
 public:
  enum class Method { kInotify, kPolling };
  explicit FileWatch(std::filesystem::path file, Method method = Method::kInotify);

  // Whether it may have, since the last call or since the watch was made. Costs a few microseconds.
  bool Changed();
  Method method() const { return inotify_.ok() ? Method::kInotify : Method::kPolling; }

 private:
  bool ReadEvents();
  bool LooksOther();

  std::filesystem::path file_;
  Descriptor inotify_;
  std::string look_;  // as it was last
};

}  // namespace medley
