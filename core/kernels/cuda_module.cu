// The kernels of medley_kernels.so: the CPU's functions of a block, with a thread for each number. Compiled
// by nvcc without libtorch; each operation is rounded by itself, so that the bits are the CPU's.
#include <medley/kernels/cuda_module.h>
#include <medley/kernels/device.h>

namespace medley::kernels {
namespace {

#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
#define MEDLEY_HAS_THREADS  // not what nvcc compiles of these functions for its host
#endif

// A thread block has a block of numbers.
struct ThreadLane {
  MEDLEY_BOTH static std::int64_t First() {
#ifdef MEDLEY_HAS_THREADS
    return threadIdx.x;
#else
    return 0;
#endif
  }
  MEDLEY_BOTH static constexpr std::int64_t Stride() { return kBlock; }

  // Of the whole thread block. All its threads call it; what they read before is read by all.
  MEDLEY_BOTH static std::int32_t Max(std::int32_t own) {
#ifdef MEDLEY_HAS_THREADS
    __shared__ std::int32_t of_warps[kBlock / 32];
    for (int apart = 16; apart > 0; apart /= 2) own = max(own, __shfl_xor_sync(0xffffffffU, own, apart));
    __syncthreads();  // an earlier call's are read
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
    __syncthreads();
    for (const std::int32_t of_warp : of_warps) own = max(own, of_warp);
#endif
    return own;
  }
};

__device__ std::int64_t SizeOfBlock(std::int64_t numbers) {
  const std::int64_t left = numbers - std::int64_t{blockIdx.x} * kBlock;
  return left < kBlock ? left : kBlock;
}

__global__ void __launch_bounds__(kBlock) UpdateEightBits(EightBitTensor tensor, AdamWRates rates) {
  __shared__ float means[kBlock], squares[kBlock];
  UpdateBlock<ThreadLane>(BlockOf(tensor, blockIdx.x, SizeOfBlock(tensor.numbers)), rates, means, squares);
}

__global__ void __launch_bounds__(kBlock) UpdateHalves(HalfTensor tensor, AdamWRates rates) {
  UpdateBlock<ThreadLane>(BlockOf(tensor, blockIdx.x, SizeOfBlock(tensor.numbers)), rates);
}

template <typename Tensor>
const char* Update(void (*kernel)(Tensor, AdamWRates), const Tensor& tensor, const AdamWRates& rates,
                   void* stream) {
  if (tensor.numbers == 0) return nullptr;
  return Launch(kernel, static_cast<std::size_t>(BlocksOf(tensor.numbers)), kBlock, 0, stream, tensor, rates);
}

}  // namespace
}  // namespace medley::kernels

using namespace medley::kernels;

extern "C" const int medley_kernels_version = kCudaModuleVersion;

// One is enough: each source is compiled for the same cards.
extern "C" const char* medley_kernels_check() { return CannotRun(UpdateEightBits); }

extern "C" const char* medley_kernels_update_8bit(const EightBitTensor& tensor, const AdamWRates& rates,
                                                  void* stream) {
  return Update(UpdateEightBits, tensor, rates, stream);
}

extern "C" const char* medley_kernels_update_bf16(const HalfTensor& tensor, const AdamWRates& rates,
                                                  void* stream) {
  return Update(UpdateHalves, tensor, rates, stream);
}
