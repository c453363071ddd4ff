#include <medley/memory/live_blocks.h>

#include <dlfcn.h>

#include <filesystem>
#include <utility>

#include <medley/base/version.h>
#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

class CpuBlocks final : public LiveBlocks {
 public:
  explicit CpuBlocks(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) { WatchCpuBlocks(sizes_); }
  ~CpuBlocks() override { WatchCpuBlocks({}); }
  CpuBlocks(const CpuBlocks&) = delete;
  CpuBlocks& operator=(const CpuBlocks&) = delete;

  BlocksBySize Look() override {
    BlocksBySize blocks;
    for (const std::int64_t size : sizes_) blocks[size] = ExtraCpuBlocks(size);
    return blocks;
  }

 private:
  std::vector<std::int64_t> sizes_;
};

class CudaBlocks final : public LiveBlocks {
 public:
  CudaBlocks(CudaSegments* segments, c10::DeviceIndex device) : segments_(segments), device_(device) {}

  BlocksBySize Look() override {
    std::vector<Segment> segments;
    segments_(segments);
    return CountBlocks(segments, device_);
  }

 private:
  CudaSegments* segments_;
  c10::DeviceIndex device_;
};

// A library of its own: libmedley itself runs with a libtorch that has no CUDA. Null where it was not built.
void* FindInCudaLibrary(const char* symbol) {
  const std::filesystem::path library = LibraryDirectory() / "medley" / "medley_cuda.so";
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return handle == nullptr ? nullptr : dlsym(handle, symbol);
}

}  // namespace

LiveBlocks::~LiveBlocks() = default;

BlocksBySize CountBlocks(const std::vector<Segment>& segments, c10::DeviceIndex device) {
  BlocksBySize blocks;
  for (const Segment& segment : segments) {
    if (segment.device != device) continue;
    for (const auto& block : segment.blocks) {
      // One that was freed while a stream still works on it is active, but nobody's.
      if (block.allocated) ++blocks[static_cast<std::int64_t>(block.requested_size)];
    }
  }
  return blocks;
}

std::unique_ptr<LiveBlocks> WatchBlocks(at::Device device, const std::vector<std::int64_t>& sizes) {
  if (device.is_cpu()) return std::make_unique<CpuBlocks>(sizes);
  auto* const segments = reinterpret_cast<CudaSegments*>(FindInCudaLibrary(kCudaSegments));
  std::vector<Segment> first;
  if (segments == nullptr || !segments(first)) return nullptr;
  return std::make_unique<CudaBlocks>(segments, device.index());
}

bool LimitCudaMemory(double fraction, at::Device device) {
  auto* const limit = reinterpret_cast<CudaLimit*>(FindInCudaLibrary(kCudaLimit));
  return limit != nullptr && limit(fraction, device.index());
}

}  // namespace medley
