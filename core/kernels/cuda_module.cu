// The kernels of medley_kernels.so: the CPU's functions of a block, with a thread for each number. Compiled by nvcc
// without libtorch; each operation is rounded by itself, so that the bits are the CPU's.
#include <cuda_runtime.h>

#include <medley/kernels/cuda_module.h>

namespace medley::kernels {
namespace {

// A thread block has a block of numbers.
struct ThreadLane {
  MEDLEY_BOTH static std::int64_t First() {
#ifdef __CUDA_ARCH__
    return threadIdx.x;
#else
    return 0;
#endif
  }
  MEDLEY_BOTH static constexpr std::int64_t Stride() { return kBlock; }

  // Of the whole thread block. All its threads call it; what they read before is read by all.
  MEDLEY_BOTH static std::int32_t Max(std::int32_t own) {
#ifdef __CUDA_ARCH__
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

const char* WordsOf(cudaError_t error) { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }

template <typename Tensor>
const char* Launch(void (*kernel)(Tensor, AdamWRates), const Tensor& tensor, const AdamWRates& rates, void* stream) {
  if (tensor.numbers == 0) return nullptr;
  kernel<<<static_cast<unsigned>(BlocksOf(tensor.numbers)), kBlock, 0, static_cast<cudaStream_t>(stream)>>>(tensor, rates);
  return WordsOf(cudaGetLastError());
}

}  // namespace
}  // namespace medley::kernels

using namespace medley::kernels;

extern "C" const int medley_kernels_version = kCudaModuleVersion;

extern "C" const char* medley_kernels_check() {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, UpdateEightBits);
  cudaGetLastError();  // forgotten: it is answered here
  return WordsOf(error);
}

extern "C" const char* medley_kernels_update_8bit(const EightBitTensor& tensor, const AdamWRates& rates, void* stream) {
  return Launch(UpdateEightBits, tensor, rates, stream);
}

extern "C" const char* medley_kernels_update_bf16(const HalfTensor& tensor, const AdamWRates& rates, void* stream) {
  return Launch(UpdateHalves, tensor, rates, stream);
}
