#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <vector>

#include <medley/memory/live_blocks.h>

namespace medley {

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
