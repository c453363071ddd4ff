#pragma once

// The device of core/kernels/*.cu as a host's compiler sees it, included before all: what CUDA and
// core/kernels/device.h have besides C++. A launch runs every thread of every block before it returns.
// Threads of a block change at barriers and shuffles, at which all of a block, or of a warp, must come
// together: else the launch has an error. Those that meet none are calls one after the other.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define MEDLEY_ROLLED
#define MEDLEY_UNROLLED

namespace medley::kernels {

struct HostIndex {
  unsigned x;
};
// Of the thread that runs now.
struct HostThread {
  HostIndex thread, block, threads, blocks;
  float* shared;
};
HostThread& ThisHostThread();

// Null, or what is wrong with the kernel.
const char* RunOnHost(std::size_t blocks, unsigned threads, std::size_t shared_bytes,
                      const std::function<void()>& kernel);
// Returns when all threads of the block are there.
void WaitForBlock();
// When all lanes of the warp are there: the 32 that they gave, until the lane gives its next but one.
const std::uint32_t* ExchangedInWarp(std::uint32_t bits);

template <typename... Arguments>
const char* Launch(void (*kernel)(Arguments...), std::size_t blocks, unsigned threads,
                   std::size_t shared_bytes, void* /*stream*/, const Arguments&... arguments) {
  static_assert((sizeof(Arguments) + ... + 0) <= 4096, "what every card takes");
  return RunOnHost(blocks, threads, shared_bytes, [&] { kernel(arguments...); });
}
template <typename Kernel>
const char* CannotRun(Kernel* /*kernel*/) {
  return nullptr;
}
template <typename Kernel>
std::size_t ResidentBlocks(Kernel* /*kernel*/, unsigned /*threads*/, std::size_t /*shared_bytes*/) {
  return 40;  // more than a group of them, in which sums over blocks are taken
}
// In one exchange instead of five: each lane goes through all halves.
template <typename Operation>
float Folded(float value, unsigned lanes, const Operation& operation) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t* const all = ExchangedInWarp(bits);
  float values[32];
  std::memcpy(values, all + ThisHostThread().thread.x % 32 / lanes * lanes, lanes * sizeof(float));
  for (unsigned apart = lanes / 2; apart > 0; apart /= 2) {
    for (unsigned lane = 0; lane < apart; ++lane)
      values[lane] = operation(values[lane], values[lane + apart]);
  }
  return values[0];
}
inline float* SharedFloats() { return ThisHostThread().shared; }

}  // namespace medley::kernels

#define threadIdx (medley::kernels::ThisHostThread().thread)
#define blockIdx (medley::kernels::ThisHostThread().block)
#define blockDim (medley::kernels::ThisHostThread().threads)
#define gridDim (medley::kernels::ThisHostThread().blocks)

inline void __syncthreads() { medley::kernels::WaitForBlock(); }
inline void __threadfence() {}
template <typename T>
T __shfl_xor_sync(unsigned /*mask*/, T value, int apart) {
  static_assert(sizeof(T) == sizeof(std::uint32_t));
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t* const all = medley::kernels::ExchangedInWarp(bits);
  std::memcpy(&value, all + (threadIdx.x % 32 ^ static_cast<unsigned>(apart)), sizeof value);
  return value;
}
inline std::uint32_t atomicAdd(std::uint32_t* place, std::uint32_t more) { return (*place += more) - more; }
inline float __ldcg(const float* place) { return *place; }
template <typename T>
T max(T a, T b) {
  return a < b ? b : a;
}
