#include <medley/memory/cpu_allocator.h>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace medley {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and what vector code likes

// Stands right before the data.
struct Header {
  void* block;        // what malloc returned
  std::size_t bytes;  // as requested: rounded ones would bend the lines that the planner fits
};

struct Counters {
  std::atomic<std::int64_t> now{0};
  std::atomic<std::int64_t> peak{0};
  std::atomic<std::int64_t> allocations{0};
  std::atomic<std::int64_t> budget{0};
  std::atomic<std::int64_t> fail_in{0};
};
Counters counters;
std::atomic<bool> installed{false};

[[noreturn]] void ThrowOutOfMemory(std::int64_t bytes, const char* reason) {
  TORCH_CHECK_WITH(OutOfMemoryError, false, "CPU out of memory: asked for ", bytes, " bytes, ",
                   counters.now.load(), " in use; ", reason);
}

// True where this allocation is the one that a test wants to fail.
bool FailsOnPurpose() {
  if (counters.fail_in.load(std::memory_order_relaxed) == 0) return false;
  return counters.fail_in.fetch_sub(1) == 1;
}

// Counts before malloc runs, so that no thread can slip in between.
void Charge(std::int64_t bytes) {
  const std::int64_t now = counters.now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const std::int64_t budget = counters.budget.load(std::memory_order_relaxed);
  if (budget > 0 && now > budget) {
    counters.now.fetch_sub(bytes, std::memory_order_relaxed);
    ThrowOutOfMemory(bytes, "the budget is smaller");
  }
  std::int64_t peak = counters.peak.load(std::memory_order_relaxed);
  while (now > peak && !counters.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

Header* HeaderOf(void* data) { return static_cast<Header*>(data) - 1; }

void Free(void* data) {
  if (data == nullptr) return;
  const Header header = *HeaderOf(data);
  counters.now.fetch_sub(static_cast<std::int64_t>(header.bytes), std::memory_order_relaxed);
  std::free(header.block);
}

void* Allocate(std::size_t bytes) {
  const auto signed_bytes = static_cast<std::int64_t>(bytes);
  if (FailsOnPurpose()) ThrowOutOfMemory(signed_bytes, "a test made this allocation fail");
  Charge(signed_bytes);
  // Not aligned_alloc: glibc's cuts the block and leaves splinters that it seldom joins again.
  void* block = std::malloc(bytes + sizeof(Header) + kAlignment);
  if (block == nullptr) {
    counters.now.fetch_sub(signed_bytes, std::memory_order_relaxed);
    ThrowOutOfMemory(signed_bytes, "the machine has no more");
  }
  counters.allocations.fetch_add(1, std::memory_order_relaxed);
  const auto first = reinterpret_cast<std::uintptr_t>(block) + sizeof(Header) + kAlignment - 1;
  void* data = reinterpret_cast<void*>(first / kAlignment * kAlignment);
  *HeaderOf(data) = {block, bytes};
  return data;
}

class CountingAllocator final : public c10::Allocator {
 public:
  // The context is the data pointer and raw_deleter exists: oneDNN allocates through the raw interface.
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = bytes == 0 ? nullptr : Allocate(bytes);
    return {data, data, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

// By default glibc returns every large block to the kernel at once, and the next step pays for its page
// faults again. The same activations come back each step: keep them.
void KeepFreedMemory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);  // never
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace

void InstallCpuAllocator() {
  if (installed.exchange(true)) return;
  KeepFreedMemory();
  // Never deleted: tensors may outlive the static destructors.
  c10::SetCPUAllocator(new CountingAllocator, /*priority=*/1);
}

bool CpuAllocatorInstalled() { return installed.load(); }

CpuMemory ReadCpuMemory() {
  return {
      .now = counters.now.load(), .peak = counters.peak.load(), .allocations = counters.allocations.load()};
}

void ResetCpuPeak() { counters.peak.store(counters.now.load()); }

void SetCpuBudget(std::int64_t bytes) { counters.budget.store(bytes); }

void FailCpuAllocation(std::int64_t nth) { counters.fail_in.store(nth); }

}  // namespace medley
