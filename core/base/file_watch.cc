#include <medley/base/file_watch.h>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

namespace medley {
namespace {

constexpr std::uint32_t kEvents =
    IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_ATTRIB;

}  // namespace

std::string LookOf(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return "";
  return std::to_string(found.st_ino) + " " + std::to_string(found.st_size) + " " +
         std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec) + " " +
         std::to_string(found.st_ctim.tv_sec) + "." + std::to_string(found.st_ctim.tv_nsec);
}

FileWatch::FileWatch(std::filesystem::path file, Method method)
    : file_(std::move(file)), look_(LookOf(file_)) {
  if (method == Method::kPolling) return;
  Descriptor inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify.ok()) return;
  if (::inotify_add_watch(inotify.get(), file_.parent_path().c_str(), kEvents) >= 0)
    inotify_ = std::move(inotify);
}

bool FileWatch::Changed() {
  // Both are asked: a network's file system tells of no change that another machine made.
  const bool told = inotify_.ok() && ReadEvents();
  return LooksOther() || told;
}

// True for one about the file; where too many came, nobody knows which.
bool FileWatch::ReadEvents() {
  const std::string name = file_.filename().string();
  bool about_it = false;
  alignas(inotify_event) std::array<char, 16384> buffer{};
  for (ssize_t bytes; (bytes = ::read(inotify_.get(), buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < bytes;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* of = buffer.data() + at + sizeof event;
      about_it = about_it || (event.mask & IN_Q_OVERFLOW) != 0 || (event.len > 0 && name == of);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  return about_it;
}

bool FileWatch::LooksOther() {
  std::string look = LookOf(file_);
  if (look == look_) return false;
  look_ = std::move(look);
  return true;
}

}  // namespace medley
