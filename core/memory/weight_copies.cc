#include <medley/memory/weight_copies.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include <medley/memory/meter.h>

namespace medley {
namespace {

constexpr std::int64_t kMostCopies = 1000;
constexpr std::int64_t kStepsBetweenLooks = 100;

// Whole copies among these blocks that came since: nine tenths of each, for a parameter may be elsewhere.
std::int64_t WholeCopies(const BlocksBySize& weights, double bytes, const BlocksBySize& extra) {
  const auto live = [&](std::int64_t copies) {
    std::int64_t sum = 0;
    for (const auto& [size, count] : weights)
      sum += size * std::clamp<std::int64_t>(extra.at(size), 0, copies * count);
    return static_cast<double>(sum);
  };
  std::int64_t copies = 0;
  while (copies < kMostCopies && live(copies + 1) >= (static_cast<double>(copies) + 0.9) * bytes) ++copies;
  return copies;
}

// Tied parameters are one.
BlocksBySize StoragesOf(const Model& model) {
  BlocksBySize blocks;
  std::set<const void*> seen;
  for (const Parameter& parameter : model.parameters()) {
    const auto& storage = parameter.tensor.storage();
    if (seen.insert(storage.unsafeGetStorageImpl()).second)
      ++blocks[static_cast<std::int64_t>(storage.nbytes())];
  }
  return blocks;
}

}  // namespace

WeightCopies WatchWeights(const Model& model, at::Device device) {
  BlocksBySize weights = StoragesOf(model);
  std::vector<std::int64_t> sizes;
  for (const auto& [size, count] : weights) sizes.push_back(size);
  return {std::move(weights), WatchBlocks(device, sizes), ReadMemory(device).now};
}

std::string BlindnessOf(const WeightCopies& copies) {
  if (copies.watching()) return "";
  return "copies of the model's parameters are not watched: that needs medley_cuda.so, which is built where "
         "there "
         "is a CUDA toolkit, and libtorch's own GPU allocator";
}

WeightCopies::WeightCopies(BlocksBySize weights, std::unique_ptr<LiveBlocks> blocks, std::int64_t floor)
    : weights_(std::move(weights)), blocks_(std::move(blocks)), first_floor_(floor) {
  for (const auto& [size, count] : weights_) bytes_ += size * count;
  if (blocks_) before_ = blocks_->Look();
}

bool WeightCopies::ShouldLook(std::int64_t floor) {
  ++steps_since_;
  const bool moved = !looked_at_ || 10 * std::abs(floor - *looked_at_) >= bytes_;
  return moved || steps_since_ >= kStepsBetweenLooks;
}

std::int64_t WeightCopies::Count(std::int64_t floor) {
  if (!blocks_ || bytes_ == 0) return 0;
  if (10 * (floor - first_floor_) < 9 * bytes_) {
    looked_at_.reset();
    return copies_ = 0;
  }
  if (!ShouldLook(floor)) return copies_;
  looked_at_ = floor;
  steps_since_ = 0;
  const BlocksBySize now = blocks_->Look();
  BlocksBySize extra;
  const auto in = [](const BlocksBySize& blocks, std::int64_t size) {
    const auto found = blocks.find(size);
    return found == blocks.end() ? 0 : found->second;
  };
  for (const auto& [size, count] : weights_) extra[size] = in(now, size) - in(before_, size);
  return copies_ = WholeCopies(weights_, static_cast<double>(bytes_), extra);
}

}  // namespace medley
