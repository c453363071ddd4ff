#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace medley {

using BlocksBySize = std::map<std::int64_t, std::int64_t>;  // bytes, as asked for: how many blocks

// The blocks that tensors hold on a device. Trainer's thread, between steps.
class LiveBlocks {
 public:
  virtual ~LiveBlocks();
  // Only differences between two looks mean anything. On a GPU a look walks all blocks under the allocator's
  // lock.
  virtual BlocksBySize Look() = 0;
};

// Looks at blocks of these sizes, those of the trainer on the CPU; there is one watch in a process there: a
// new one takes over. Null on a GPU whose allocator cannot be looked at, or where medley was built without a
// CUDA toolkit.
std::unique_ptr<LiveBlocks> WatchBlocks(at::Device device, const std::vector<std::int64_t>& sizes);

// Moves the limit of a GPU's caching allocator that has started to this fraction of the device. False where
// medley was built without a CUDA toolkit.
bool LimitCudaMemory(double fraction, at::Device device);

// What a caching allocator says of the memory that it holds: segments, and the blocks that they are cut into.
using Segment = c10::CachingDeviceAllocator::SegmentInfo;

// Looks at all GPUs. False where the allocator cannot be looked at. Of medley_cuda.so, under kCudaSegments.
using CudaSegments = bool(std::vector<Segment>& segments);
inline constexpr const char* kCudaSegments = "medley_cuda_segments";

// Limits the native allocator of a device to this fraction of it; false where there is another.
using CudaLimit = bool(double fraction, c10::DeviceIndex device);
inline constexpr const char* kCudaLimit = "medley_cuda_limit";

// The blocks of the device that tensors hold. By what was asked for, which the allocator notes beside what it
// rounded that to: two sizes that round to one stay apart.
BlocksBySize CountBlocks(const std::vector<Segment>& segments, c10::DeviceIndex device);

}  // namespace medley
