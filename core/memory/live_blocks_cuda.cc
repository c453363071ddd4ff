// The one source that needs CUDA's headers. Opened at run time; see live_blocks.cc.
#include <c10/cuda/CUDACachingAllocator.h>
#include <medley/memory/block_snapshot.h>

extern "C" bool medley_cuda_segments(std::vector<medley::Segment>& segments) {
  auto* const allocator = c10::cuda::CUDACachingAllocator::get();
  if (allocator == nullptr || allocator->name() != "native")
    return false;  // CUDA's own has no blocks to show
  segments = allocator->snapshot({0, 0}, /*include_traces=*/false).segments;
  return true;
}
