#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace medley {

using BlocksBySize = std::map<std::int64_t, std::int64_t>;  // bytes, as asked for: how many blocks

// The blocks that tensors hold on a device.
class LiveBlocks {
 public:
  virtual ~LiveBlocks();
  // The blocks as they are now, of which only differences between two looks mean anything. Between steps; on
  // a GPU a look walks all blocks under the allocator's lock.
  virtual BlocksBySize Look() = 0;
};

// Looks at blocks of these sizes, those of the trainer on the CPU; there is one watch in a process there: a
// new one takes over. Null on a GPU whose allocator cannot be looked at, or where medley was built without a
// CUDA toolkit.
std::unique_ptr<LiveBlocks> WatchBlocks(at::Device device, const std::vector<std::int64_t>& sizes);

// Moves the limit of a GPU's caching allocator that has started to this fraction of the device. False where
// medley was built without a CUDA toolkit.
bool LimitCudaMemory(double fraction, at::Device device);

}  // namespace medley
