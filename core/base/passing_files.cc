#include <medley/base/passing_files.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <string>

namespace medley {
namespace {

struct PassingSlot {
  std::atomic<bool> taken = false, named = false;
  std::array<char, PATH_MAX> path{};
};
std::array<PassingSlot, 4> g_passing;

// A directory with all below it: only another process can do that for a handler.
void RemoveTree(char* path) {
  const pid_t child = ::_Fork();
  if (child == 0) {
    char name[] = "rm", recursively[] = "-rf", end[] = "--";
    char* arguments[] = {name, recursively, end, path, nullptr};
    ::execv("/bin/rm", arguments);
    ::_exit(127);
  }
  if (child > 0) ::waitpid(child, nullptr, 0);
}

}  // namespace

PassingFile::PassingFile(const std::filesystem::path& path) noexcept {
  const std::string& name = path.native();
  if (name.size() + 1 > PATH_MAX) return;
  for (std::size_t i = 0; i < g_passing.size(); ++i) {
    if (g_passing[i].taken.exchange(true)) continue;
    *std::copy(name.begin(), name.end(), g_passing[i].path.begin()) = '\0';
    g_passing[i].named = true;
    slot_ = static_cast<int>(i);
    return;
  }
}

PassingFile::~PassingFile() {
  if (slot_ < 0) return;
  PassingSlot& slot = g_passing[static_cast<std::size_t>(slot_)];
  slot.named = false;
  slot.taken = false;
}

void RemovePassingFiles() noexcept {
  for (PassingSlot& slot : g_passing) {
    if (slot.named && ::unlink(slot.path.data()) != 0 && errno == EISDIR) RemoveTree(slot.path.data());
  }
}

}  // namespace medley
