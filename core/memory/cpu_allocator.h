#pragma once

#include <cstdint>
#include <vector>

namespace medley {

// Who asked for a block. A block keeps its owner for life and is taken off that owner's account wherever it
// is freed: a batch that the trainer has taken over is still the data threads'.
enum class MemoryOwner { kTrainer = 0, kData = 1 };

// Gives the owner what this thread allocates while the scope lives. Scopes nest, and end on their thread in
// the opposite order; the default is kTrainer.
class MemoryOwnerScope {
 public:
  explicit MemoryOwnerScope(MemoryOwner owner);
  ~MemoryOwnerScope();
  MemoryOwnerScope(const MemoryOwnerScope&) = delete;
  MemoryOwnerScope& operator=(const MemoryOwnerScope&) = delete;

 private:
  MemoryOwner before_;
};

// Bytes of CPU tensors, counted exactly as requested by one process-wide allocator.
struct CpuMemory {
  std::int64_t now = 0;          // the trainer's
  std::int64_t peak = 0;         // of the trainer's, since the last ResetCpuPeak
  std::int64_t allocations = 0;  // number of blocks ever handed out, to anybody
  std::int64_t data_now = 0;     // the data threads'
  std::int64_t ooms = 0;         // number of blocks ever refused
};

// Puts the counting allocator under libtorch, and has malloc keep what is freed; both for the life of the
// process. Call before the first tensor; calling again changes nothing.
void InstallCpuAllocator();
// On any thread; while others allocate, its figures may be of moments a little apart.
CpuMemory ReadCpuMemory();
// Sets the peak to what the trainer has now. There is one in the process: whoever resets it takes it from
// whoever measures.
void ResetCpuPeak();
// A peak of one's own while it lives, from what the trainer has now; then whoever measures around it has the
// one before, as if nothing had been allocated.
class CpuPeakScope {
 public:
  CpuPeakScope();
  ~CpuPeakScope();
  CpuPeakScope(const CpuPeakScope&) = delete;
  CpuPeakScope& operator=(const CpuPeakScope&) = delete;

 private:
  std::int64_t before_;
};
// Bytes that CPU tensors of all owners may use together; beyond it an allocation throws c10::OutOfMemoryError
// and is counted nowhere but in `ooms`. What lives stays. 0: no limit.
void SetCpuBudget(std::int64_t bytes);
// The budget in force; 0: no limit.
std::int64_t CpuBudget();
// Makes the n-th allocation from now (1: the next) throw c10::OutOfMemoryError, once, for tests. 0: none.
void FailCpuAllocation(std::int64_t nth);

// Counts the trainer's blocks of these sizes from now on (the 128 largest; the others are left out). Replaces
// the sizes watched so far. Between steps only: a block that another thread frees meanwhile may be missed.
void WatchCpuBlocks(const std::vector<std::int64_t>& sizes);
// Blocks of this size that live beyond those of when it was first watched; 0 where it is not watched.
std::int64_t ExtraCpuBlocks(std::int64_t size);

}  // namespace medley
