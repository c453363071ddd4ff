// In the place of libcudart: cards that are not there. libtorch's CUDA half loads over it, asks for their
// properties, and decides by them as it does on the cards themselves; memory is the host's, and of a kernel
// that is launched only the name is kept. What a test does not reach is not here: it would fail by its name.

#include <cuda_runtime_api.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cards.h"

namespace {

using medley::pretended::kCards;

struct State {
  std::mutex mutex;
  std::map<const void*, std::string> names;  // of kernels, by their function on the host
  std::vector<std::string> launched;
  std::array<cudaDeviceProp, kCards.size()> properties{};
};
State& The() {
  static auto* const state = new State;
  return *state;
}
thread_local int current = 0;

cudaError_t Launched(const void* kernel) {
  const std::scoped_lock lock(The().mutex);
  const auto found = The().names.find(kernel);
  The().launched.push_back(found == The().names.end() ? "unknown" : found->second);
  return cudaSuccess;
}

// A handle that is nobody's memory, another one each time.
template <typename Handle>
cudaError_t Give(Handle* handle) {
  *handle = reinterpret_cast<Handle>(std::malloc(1));  // lives as long as the test
  return cudaSuccess;
}

}  // namespace

namespace medley::pretended {

std::vector<std::string> TakeLaunched() {
  const std::scoped_lock lock(The().mutex);
  return std::exchange(The().launched, {});
}

}  // namespace medley::pretended

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  const std::scoped_lock lock(The().mutex);
  The().names.emplace(host, name);
}

thread_local struct {
  dim3 grid, block;
  std::size_t shared;
  void* stream;
} configuration;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  configuration = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = configuration.grid, *block = configuration.block, *shared = configuration.shared;
  std::memcpy(stream, &configuration.stream, sizeof(void*));
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return Launched(kernel);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* kernel, void**) {
  return Launched(kernel);
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->binaryVersion = attributes->ptxVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 2;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(kCards.size());
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const medley::pretended::Card& card = kCards[static_cast<std::size_t>(device)];
  *properties = {};
  std::strcpy(properties->name, card.name);
  properties->major = card.capability / 10, properties->minor = card.capability % 10;
  properties->totalGlobalMem = std::size_t{24} << 30;
  properties->multiProcessorCount = 80;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 1536;
  properties->regsPerMultiprocessor = properties->regsPerBlock = 65536;
  properties->sharedMemPerBlock = 48 << 10;
  properties->sharedMemPerBlockOptin = card.shared_kib << 10;
  properties->sharedMemPerMultiprocessor = (card.shared_kib + 1) << 10;
  for (int i = 0; i < 3; ++i)
    properties->maxGridSize[i] = i == 0 ? 0x7fffffff : 65535, properties->maxThreadsDim[i] = 1024;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0, *greatest = -1;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "none"; }
const char* cudaGetErrorName(cudaError_t) { return "none"; }

cudaError_t cudaMalloc(void** memory, std::size_t size) {
  *memory = std::aligned_alloc(512, (size + 511) / 512 * 512);
  std::memset(*memory, 0, size);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{24} << 30;
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t size, cudaStream_t) {
  std::memset(memory, value, size);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) { return Give(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long*,
                                     cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                     std::size_t*) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return Give(event); }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t, unsigned) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

// Of the driver, and of cuDNN.
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0, *active = 1;
  return 0;
}
int cuCtxGetCurrent(void** context) {
  *context = context;
  return 0;
}
std::size_t cudnnGetVersion() { return 91900; }

}  // extern "C"
