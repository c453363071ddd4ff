#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace medley {

// How many more blocks of certain sizes live than when they were first watched. Open addressing, twice as
// many slots as sizes: Add costs an allocation a few nanoseconds. Add may run on any thread, Watch while no
// other thread adds.
class BlockCounts {
 public:
  static constexpr std::size_t kMost = 128;

  // The kMost largest of them; counts from 0.
  void Watch(std::vector<std::int64_t> sizes) {
    smallest_.store(kNever);
    for (Slot& slot : slots_) {
      slot.size.store(0);
      slot.extra.store(0);
    }
    std::erase_if(sizes, [](std::int64_t size) { return size <= 0; });
    std::ranges::sort(sizes, std::greater<>());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    if (sizes.size() > kMost) sizes.resize(kMost);
    for (const std::int64_t size : sizes) Find(size).size.store(size);
    if (!sizes.empty()) smallest_.store(sizes.back());
  }

  void Add(std::int64_t size, std::int64_t blocks) {
    if (size < smallest_.load(std::memory_order_relaxed)) return;
    Slot& slot = Find(size);
    if (slot.size.load(std::memory_order_relaxed) == size)
      slot.extra.fetch_add(blocks, std::memory_order_relaxed);
  }

  // 0 where the size is not watched.
  std::int64_t extra(std::int64_t size) const {
    const Slot& slot = const_cast<BlockCounts*>(this)->Find(size);
    return slot.size.load() == size ? slot.extra.load() : 0;
  }

 private:
  struct Slot {
    std::atomic<std::int64_t> size{0};  // 0: free
    std::atomic<std::int64_t> extra{0};
  };

  static constexpr int kBits = 8;
  static constexpr std::size_t kSlots = 1U << kBits;
  static_assert(kSlots >= 2 * kMost);
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  // The slot of the size, or the free one where it would be put.
  Slot& Find(std::int64_t size) {
    std::size_t at = (static_cast<std::uint64_t>(size) * 0x9e3779b97f4a7c15U) >> (64 - kBits);  // Fibonacci
    for (;; at = (at + 1) % kSlots) {
      const std::int64_t found = slots_[at].size.load(std::memory_order_relaxed);
      if (found == size || found == 0) return slots_[at];
    }
  }

  std::array<Slot, kSlots> slots_;
  std::atomic<std::int64_t> smallest_{kNever};
};

}  // namespace medley
