// The one source that needs CUDA's headers. Opened at run time; see live_blocks.cc.
#include <c10/cuda/CUDACachingAllocator.h>
#include <medley/memory/live_blocks.h>

namespace {

// Null where it is CUDA's own, which has no blocks to show.
c10::cuda::CUDACachingAllocator::CUDAAllocator* Native() {
  auto* const allocator = c10::cuda::CUDACachingAllocator::get();
  return allocator != nullptr && allocator->name() == "native" ? allocator : nullptr;
}

}  // namespace

extern "C" bool medley_cuda_segments(std::vector<medley::Segment>& segments) {
  if (Native() == nullptr) return false;
  segments = Native()->snapshot({0, 0}, /*include_traces=*/false).segments;
  return true;
}

extern "C" bool medley_cuda_limit(double fraction, c10::DeviceIndex device) {
  if (Native() == nullptr) return false;
  Native()->setMemoryFraction(fraction, device);
  return true;
}
