#include <medley/memory/freed_pages.h>

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace medley {
namespace {

constexpr std::int64_t kLooks = 64;  // for a budget's worth of bytes: a look takes some microseconds

// How far beyond is left alone: giving pages back costs a fault for each that is wanted again, in every step
// of a run that fills its budget.
std::int64_t Tolerance(std::int64_t budget) {
  constexpr std::int64_t kLeast = 128 << 20;
  return std::max(kLeast, budget / 16);
}

}  // namespace

std::int64_t ResidentBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  long all = 0, resident = 0, of_files = 0;
  const int read = std::fscanf(file, "%ld %ld %ld", &all, &resident, &of_files);
  std::fclose(file);
  return read == 3 ? static_cast<std::int64_t>(resident - of_files) * ::sysconf(_SC_PAGESIZE) : 0;
}

void FreedPages::KeepWithin(std::int64_t budget, std::int64_t in_use, std::int64_t bytes) {
  const std::int64_t between = budget / kLooks;
  if (budget <= 0 || since_look_.fetch_add(bytes, std::memory_order_relaxed) + bytes < between) return;
  since_look_.store(0, std::memory_order_relaxed);
  const std::int64_t resident = ResidentBytes(),
                     outside = std::min(outside_.load(std::memory_order_relaxed), resident - in_use);
  if (resident + bytes <= budget + outside + Tolerance(budget)) return;
  malloc_trim(0);
  // What is left is not malloc's to give, or lies in pages that are in use.
  outside_.store(std::max<std::int64_t>(0, ResidentBytes() - in_use), std::memory_order_relaxed);
}

}  // namespace medley
