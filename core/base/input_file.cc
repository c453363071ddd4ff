#include <medley/base/input_file.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <medley/base/durable_file.h>

namespace medley {

InputFile::InputFile(std::filesystem::path path, Links links) : path_(std::move(path)) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (links == Links::kRefuse ? O_NOFOLLOW : 0);
  do fd_ = ::open(path_.c_str(), flags);
  while (fd_ < 0 && errno == EINTR);
  if (fd_ < 0) ThrowFileError("open", path_, errno);
  if (::fstat(fd_, &info_) == 0) return;
  const int error = errno;
  ::close(fd_);
  ThrowFileError("look at", path_, error);
}

InputFile::~InputFile() { ::close(fd_); }

std::size_t InputFile::Read(std::int64_t offset, void* data, std::size_t size) const {
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got =
        ::pread(fd_, static_cast<char*>(data) + have, size - have, offset + static_cast<std::int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowFileError("read", path_, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

}  // namespace medley
