#include <medley/memory/weight_copies.h>

#include <algorithm>
#include <set>

#include <medley/memory/block_counts.h>
#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

constexpr std::int64_t kMostCopies = 1000;

}  // namespace

WeightCopies::WeightCopies(const Model& model) {
  std::set<const void*> seen;  // tied parameters are one block
  for (const Parameter& parameter : model.parameters()) {
    const auto& storage = parameter.tensor.storage();
    if (!seen.insert(storage.unsafeGetStorageImpl()).second) continue;
    const auto bytes = static_cast<std::int64_t>(storage.nbytes());
    ++blocks_[bytes];
    bytes_ += bytes;
  }
  std::vector<std::int64_t> sizes;
  for (const auto& [size, count] : blocks_) sizes.push_back(size);
  WatchCpuBlocks(sizes);
}

WeightCopies::~WeightCopies() { WatchCpuBlocks({}); }

std::int64_t WeightCopies::Count() const {
  const auto live = [&](std::int64_t copies) {
    std::int64_t bytes = 0;
    for (const auto& [size, count] : blocks_)
      bytes += size * std::clamp<std::int64_t>(ExtraCpuBlocks(size), 0, copies * count);
    return static_cast<double>(bytes);
  };
  std::int64_t copies = 0;
  while (copies < kMostCopies &&
         live(copies + 1) >= (static_cast<double>(copies) + 0.9) * static_cast<double>(bytes_))
    ++copies;
  return copies;
}

}  // namespace medley
