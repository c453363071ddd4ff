#include <medley/base/input_file.h>

#include <unistd.h>

#include <cerrno>
#include <utility>

#include <medley/base/durable_file.h>

namespace medley {

InputFile::InputFile(std::filesystem::path path, Links links)
    : path_(std::move(path)), file_(path_, links == Links::kRefuse ? kPlainOnly : O_NONBLOCK) {
  if (!file_.ok()) ThrowFileError("open", path_, errno);
  if (::fstat(file_.get(), &info_) != 0) ThrowFileError("look at", path_, errno);
}

bool InputFile::Is(const struct stat& now) const {
  return now.st_dev == info_.st_dev && now.st_ino == info_.st_ino && now.st_size == info_.st_size &&
         Nanoseconds(now.st_mtim) == modified_ns() && Nanoseconds(now.st_ctim) == changed_ns();
}

std::size_t InputFile::Read(std::int64_t offset, void* data, std::size_t size) const {
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::pread(file_.get(), static_cast<char*>(data) + have, size - have,
                                offset + static_cast<std::int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowFileError("read", path_, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

}  // namespace medley
