#include <medley/base/mapped_file.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include <medley/base/descriptor.h>
#include <medley/base/durable_file.h>

namespace medley {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(path, O_RDONLY | O_NONBLOCK);
  struct stat info {};
  if (!file.ok() || fstat(file.get(), &info) != 0) ThrowFileError("open", path, errno);
  if (!S_ISREG(info.st_mode)) ThrowFileError("map", path, ENODEV);
  size_ = info.st_size;
  if (size_ == 0) return;
  void* const mapped = mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (mapped == MAP_FAILED) ThrowFileError("map", path, errno);
  data_ = static_cast<std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(size_));
}

}  // namespace medley
