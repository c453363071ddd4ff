#include <medley/base/passing_files.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string>

namespace medley {
namespace {

struct PassingSlot {
  std::atomic<bool> taken = false, named = false;
  std::array<char, PATH_MAX> path{};
};
std::array<PassingSlot, 4> g_passing;

// With all that is below it, by calls that a handler may make.
void RemoveTree(int folder, const char* name) {
  if (::unlinkat(folder, name, 0) == 0 || errno != EISDIR) return;
  const int opened = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return;
  alignas(dirent64) std::array<char, 2048> entries;
  for (long size; (size = ::syscall(SYS_getdents64, opened, entries.data(), entries.size())) > 0;) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      at += entry->d_reclen;
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        RemoveTree(opened, entry->d_name);
    }
  }
  ::close(opened);
  ::unlinkat(folder, name, AT_REMOVEDIR);
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
    if (slot.named) RemoveTree(AT_FDCWD, slot.path.data());
  }
}

}  // namespace medley
