#pragma once

// What a kernel's source has besides C++, on a GPU. The tests' host has the same
// (tests/kernels/host_device.h), included before all: there a launch runs every thread of every block, one
// after the other, from the same source.
#ifdef __CUDACC__

#include <cuda_runtime.h>

#include <cstddef>

#define MEDLEY_ROLLED _Pragma("unroll 1")  // a loop that most threads go through once
#define MEDLEY_UNROLLED _Pragma("unroll 8")

namespace medley::kernels {

inline const char* WordsOf(cudaError_t error) {
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

// Null where the device runs the kernel.
template <typename Kernel>
const char* CannotRun(Kernel* kernel) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  cudaGetLastError();  // forgotten: it is answered here
  return WordsOf(error);
}

template <typename... Arguments>
const char* Launch(void (*kernel)(Arguments...), std::size_t blocks, unsigned threads,
                   std::size_t shared_bytes, void* stream, const Arguments&... arguments) {
  static_assert((sizeof(Arguments) + ... + 0) <= 4096, "what every card takes");
  if (blocks > 0x7fffffff) return "more blocks than a launch has";
  kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes, static_cast<cudaStream_t>(stream)>>>(
      arguments...);
  return WordsOf(cudaGetLastError());
}

// How many blocks the device runs at once; 0 where it has an error, which a launch then says.
template <typename Kernel>
std::size_t ResidentBlocks(Kernel* kernel, unsigned threads, std::size_t shared_bytes) {
  int device = 0, processors = 0, of_each = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_each, kernel, static_cast<int>(threads), shared_bytes);
  return static_cast<std::size_t>(processors) * static_cast<std::size_t>(of_each);
}

// Of so many neighbouring lanes, a power of two: by halves, each lane with the one that is so far away.
template <typename Operation>
__device__ float Folded(float value, unsigned lanes, const Operation& operation) {
  for (unsigned apart = lanes / 2; apart > 0; apart /= 2)
    value = operation(value, __shfl_xor_sync(0xffffffffU, value, static_cast<int>(apart)));
  return value;
}

// The bytes that a launch has for each block, aligned to 16.
__device__ inline float* SharedFloats() {
  extern __shared__ float4 medley_shared[];
  return reinterpret_cast<float*>(medley_shared);
}

}  // namespace medley::kernels

#endif
