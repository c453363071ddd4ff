#pragma once

#include <atomic>
#include <cstdint>

namespace medley {

// Bytes of memory that the process has pages for, without those of files.
std::int64_t ResidentBytes();

// Pages of freed blocks. malloc keeps them for what comes next; where that has other sizes they fit nothing,
// and would come on top of the budget. On any thread.
class FreedPages {
 public:
  // Before so many bytes are allocated where tensors have `in_use` of the budget: gives the pages back where
  // all that are there would be a sixteenth, and 128 MiB, more than the budget and what else the process has.
  void KeepWithin(std::int64_t budget, std::int64_t in_use, std::int64_t bytes);

 private:
  std::atomic<std::int64_t> since_look_{0};  // bytes
  std::atomic<std::int64_t> outside_{0};     // bytes of pages that are none of tensors
};

}  // namespace medley
