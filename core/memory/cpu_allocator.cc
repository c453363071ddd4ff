#include <medley/memory/cpu_allocator.h>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>

#include <medley/base/bytes.h>
#include <medley/memory/block_counts.h>
#include <medley/memory/freed_pages.h>

namespace medley {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and what vector code likes

// Stands right before the data.
struct Header {
  void* block;        // what malloc returned
  std::size_t bytes;  // as requested: rounded ones would bend the lines that the planner fits
  MemoryOwner owner;
};

using Count = std::atomic<std::int64_t>;

struct Counters {
  Count total{0};  // of all owners: what the budget bounds
  std::array<Count, 2> now{};
  Count peak{0};
  Count allocations{0};
  Count ooms{0};
  Count budget{0};
  Count fail_in{0};
};
Counters counters;
std::atomic<bool> installed{false};
thread_local MemoryOwner owner_now = MemoryOwner::kTrainer;

Count& NowOf(MemoryOwner owner) { return counters.now[static_cast<std::size_t>(owner)]; }

BlockCounts watched;
FreedPages freed_pages;

[[noreturn]] void ThrowOutOfMemory(std::int64_t bytes, const std::string& reason) {
  counters.ooms.fetch_add(1, std::memory_order_relaxed);
  TORCH_CHECK_WITH(OutOfMemoryError, false, "CPU out of memory: asked for ", FormatBytes(bytes), ", ",
                   FormatBytes(counters.total.load()), " in use; ", reason);
}

// True where this allocation is the one that a test wants to fail.
bool FailsOnPurpose() {
  if (counters.fail_in.load(std::memory_order_relaxed) == 0) return false;
  return counters.fail_in.fetch_sub(1) == 1;
}

// Counts before malloc runs, so that no thread can slip in between.
void Charge(std::int64_t bytes, MemoryOwner owner) {
  const std::int64_t budget = counters.budget.load(std::memory_order_relaxed);
  std::int64_t total = counters.total.load(std::memory_order_relaxed);
  do {  // not added first: a block that is refused must not push another thread over the budget
    if (budget > 0 && total + bytes > budget) ThrowOutOfMemory(bytes, "the budget is " + FormatBytes(budget));
  } while (!counters.total.compare_exchange_weak(total, total + bytes, std::memory_order_relaxed));
  const std::int64_t now = NowOf(owner).fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (owner != MemoryOwner::kTrainer) return;
  std::int64_t peak = counters.peak.load(std::memory_order_relaxed);
  while (now > peak && !counters.peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void Refund(std::int64_t bytes, MemoryOwner owner) {
  counters.total.fetch_sub(bytes, std::memory_order_relaxed);
  NowOf(owner).fetch_sub(bytes, std::memory_order_relaxed);
}

Header* HeaderOf(void* data) { return static_cast<Header*>(data) - 1; }

void Free(void* data) {
  if (data == nullptr) return;
  const Header header = *HeaderOf(data);
  const auto bytes = static_cast<std::int64_t>(header.bytes);
  Refund(bytes, header.owner);
  if (header.owner == MemoryOwner::kTrainer) watched.Add(bytes, -1);
  std::free(header.block);
}

void* Allocate(std::size_t bytes) {
  const auto signed_bytes = static_cast<std::int64_t>(bytes);
  const MemoryOwner owner = owner_now;
  if (FailsOnPurpose()) ThrowOutOfMemory(signed_bytes, "a test made this allocation fail");
  Charge(signed_bytes, owner);
  freed_pages.KeepWithin(counters.budget.load(std::memory_order_relaxed),
                         counters.total.load(std::memory_order_relaxed) - signed_bytes, signed_bytes);
  // Not aligned_alloc: glibc's cuts the block and leaves splinters that it seldom joins again.
  void* block = std::malloc(bytes + sizeof(Header) + kAlignment);
  if (block == nullptr) {
    Refund(signed_bytes, owner);
    ThrowOutOfMemory(signed_bytes, "the machine has no more");
  }
  counters.allocations.fetch_add(1, std::memory_order_relaxed);
  if (owner == MemoryOwner::kTrainer) watched.Add(signed_bytes, 1);
  const auto first = reinterpret_cast<std::uintptr_t>(block) + sizeof(Header) + kAlignment - 1;
  void* data = reinterpret_cast<void*>(first / kAlignment * kAlignment);
  *HeaderOf(data) = {block, bytes, owner};
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
// faults again. The same activations come back each step: keep them, within the budget (FreedPages).
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

CpuMemory ReadCpuMemory() {
  return {.now = NowOf(MemoryOwner::kTrainer).load(),
          .peak = counters.peak.load(),
          .allocations = counters.allocations.load(),
          .data_now = NowOf(MemoryOwner::kData).load(),
          .ooms = counters.ooms.load()};
}

void ResetCpuPeak() { counters.peak.store(NowOf(MemoryOwner::kTrainer).load()); }

CpuPeakScope::CpuPeakScope() : before_(counters.peak.load()) { ResetCpuPeak(); }

CpuPeakScope::~CpuPeakScope() { counters.peak.store(before_); }

void SetCpuBudget(std::int64_t bytes) { counters.budget.store(bytes); }

std::int64_t CpuBudget() { return counters.budget.load(); }

void FailCpuAllocation(std::int64_t nth) { counters.fail_in.store(nth); }

void WatchCpuBlocks(const std::vector<std::int64_t>& sizes) { watched.Watch(sizes); }

std::int64_t ExtraCpuBlocks(std::int64_t size) { return watched.extra(size); }

MemoryOwnerScope::MemoryOwnerScope(MemoryOwner owner) : before_(owner_now) { owner_now = owner; }

MemoryOwnerScope::~MemoryOwnerScope() { owner_now = before_; }

}  // namespace medley
