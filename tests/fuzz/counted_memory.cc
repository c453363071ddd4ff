#include "tests/fuzz/counted_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace medley::fuzz {
namespace {

thread_local std::int64_t live = 0;
thread_local std::int64_t most = 0;

}  // namespace

std::int64_t LiveBytes() { return live; }
std::int64_t MostBytes() { return most; }
void ResetMostBytes() { most = live; }

namespace {

void* Allocate(std::size_t size) {
  void* block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  live += static_cast<std::int64_t>(malloc_usable_size(block));
  most = std::max(most, live);
  return block;
}

void Free(void* block) {
  if (block == nullptr) return;
  live -= static_cast<std::int64_t>(malloc_usable_size(block));
  std::free(block);
}

}  // namespace
}  // namespace medley::fuzz

void* operator new(std::size_t size) { return medley::fuzz::Allocate(size); }
void* operator new[](std::size_t size) { return medley::fuzz::Allocate(size); }
void operator delete(void* block) noexcept { medley::fuzz::Free(block); }
void operator delete[](void* block) noexcept { medley::fuzz::Free(block); }
void operator delete(void* block, std::size_t) noexcept { medley::fuzz::Free(block); }
void operator delete[](void* block, std::size_t) noexcept { medley::fuzz::Free(block); }
