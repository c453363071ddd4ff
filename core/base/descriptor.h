#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <filesystem>

namespace medley {

// Flags of open(2): follow no link, and never wait for the other end of a pipe.
inline constexpr int kPlainOnly = O_NOFOLLOW | O_NONBLOCK;

// A file descriptor that is closed at the end of its scope; < 0: none, and errno says why.
class Descriptor {
 public:
  Descriptor() = default;
  // open(2), close-on-exec, again where a signal came between.
  Descriptor(const std::filesystem::path& path, int flags, mode_t mode = 0644);
  // Takes over what another call opened.
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // What close(2) said; 0 where nothing was open. Never called twice: Linux frees the number whatever it
  // says.
  int Close();

 private:
  int fd_ = -1;
};

}  // namespace medley
