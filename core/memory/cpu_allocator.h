#pragma once

#include <cstdint>

namespace medley {

// Bytes of CPU tensors, counted exactly as requested by one process-wide allocator.
struct CpuMemory {
  std::int64_t now = 0;
  std::int64_t peak = 0;         // since the last ResetPeak
  std::int64_t allocations = 0;  // number of blocks ever handed out
};

// Puts the counting allocator under libtorch. Call before the first tensor; calling again changes nothing.
void InstallCpuAllocator();
bool CpuAllocatorInstalled();
CpuMemory ReadCpuMemory();
void ResetCpuPeak();
// Bytes that CPU tensors may use in all; beyond it an allocation throws c10::OutOfMemoryError. 0: no limit.
void SetCpuBudget(std::int64_t bytes);
// For tests: the n-th allocation from now (1: the next) throws c10::OutOfMemoryError, once. 0: none.
void FailCpuAllocation(std::int64_t nth);

}  // namespace medley
