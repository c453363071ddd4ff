#include "tests/fuzz/counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
// Of libasan; Debian's GCC comes without sanitizer/allocator_interface.h.
extern "C" {
std::size_t __sanitizer_get_allocated_size(const volatile void* block);
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t),
                                              void (*freed)(const volatile void*));
}
#endif

namespace medley::fuzz {
namespace {

std::atomic<std::int64_t> live = 0, most = 0;

void Count(std::int64_t bytes) {
  const std::int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > most.load(std::memory_order_relaxed)) most.store(now, std::memory_order_relaxed);
}

}  // namespace

std::int64_t LiveBytes() { return live; }
std::int64_t MostBytes() { return most; }
void ResetMostBytes() { most = live.load(); }

#ifdef __SANITIZE_ADDRESS__

namespace {

void Allocated(const volatile void*, std::size_t size) { Count(static_cast<std::int64_t>(size)); }

void Freed(const volatile void* block) {
  if (block != nullptr) Count(-static_cast<std::int64_t>(__sanitizer_get_allocated_size(block)));
}

[[maybe_unused]] const int kInstalled = __sanitizer_install_malloc_and_free_hooks(Allocated, Freed);

}  // namespace
}  // namespace medley::fuzz

#else

namespace {

void* Counted(void* block) {
  if (block != nullptr) Count(static_cast<std::int64_t>(malloc_usable_size(block)));
  return block;
}

void Uncount(void* block) {
  if (block != nullptr) Count(-static_cast<std::int64_t>(malloc_usable_size(block)));
}

}  // namespace
}  // namespace medley::fuzz

// A program's own take the place of glibc's in every library.
extern "C" {

void* __libc_malloc(std::size_t size) noexcept;
void __libc_free(void* block) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* block, std::size_t size) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;

void* malloc(std::size_t size) noexcept { return medley::fuzz::Counted(__libc_malloc(size)); }

void free(void* block) noexcept {
  medley::fuzz::Uncount(block);
  __libc_free(block);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  return medley::fuzz::Counted(__libc_calloc(count, size));
}

void* realloc(void* block, std::size_t size) noexcept {
  const std::int64_t before = block == nullptr ? 0 : static_cast<std::int64_t>(malloc_usable_size(block));
  void* moved = __libc_realloc(block, size);
  if (moved != nullptr || size == 0) medley::fuzz::Count(-before);
  return medley::fuzz::Counted(moved);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return medley::fuzz::Counted(__libc_memalign(alignment, size));
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  void* found = memalign(alignment, size);
  if (found == nullptr) return ENOMEM;
  *block = found;
  return 0;
}

}  // extern "C"

#endif
