#include <medley/base/mapped_file.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>

#include <medley/base/descriptor.h>
#include <medley/base/durable_file.h>
#include <medley/base/printable.h>

namespace medley {

// Of a list that only grows, as a handler may be reading it: one that is free has no beginning.
struct MappedFile::Mapping {
  std::atomic<const std::byte*> begin = nullptr;
  std::int64_t size = 0;
  std::string path;
  Mapping* next = nullptr;
};

namespace {

std::atomic<MappedFile::Mapping*> g_places = nullptr;
std::mutex g_places_change;

MappedFile::Mapping* KeepPlace(const std::byte* begin, std::int64_t size, const std::string& path) {
  const std::lock_guard lock(g_places_change);
  MappedFile::Mapping* place = g_places;
  while (place != nullptr && place->begin != nullptr) place = place->next;
  const bool is_new = place == nullptr;
  if (is_new) place = new MappedFile::Mapping;
  place->size = size;
  place->path = path;
  place->begin = begin;
  if (is_new) {
    place->next = g_places;
    g_places = place;
  }
  return place;
}

}  // namespace

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
  place_ = KeepPlace(data_, size_, Printable(path));
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  place_->begin = nullptr;
  munmap(data_, static_cast<std::size_t>(size_));
}

std::string_view MappedPathAt(const void* address) noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  for (const MappedFile::Mapping* place = g_places; place != nullptr; place = place->next) {
    const std::byte* begin = place->begin;
    if (begin != nullptr && at >= begin && at < begin + place->size) return place->path;
  }
  return "";
}

}  // namespace medley
