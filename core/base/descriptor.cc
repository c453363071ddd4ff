#include <medley/base/descriptor.h>

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace medley {

Descriptor::Descriptor(const std::filesystem::path& path, int flags, mode_t mode) {
  do fd_ = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  while (fd_ < 0 && errno == EINTR);
}

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  Close();
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

int Descriptor::Close() {
  if (fd_ < 0) return 0;
  const int number = errno;
  const int result = ::close(std::exchange(fd_, -1));
  if (result == 0) errno = number;
  return result;
}

}  // namespace medley
