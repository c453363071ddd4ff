#pragma once

#include <medley/kernels/adamw_loop.h>

namespace medley::kernels {

// What medley_kernels.so has, under C names, for who opens it with dlopen. Pointers are those of the device
// of the calling thread, `stream` is a cudaStream_t. Each function returns nullptr, or what CUDA says of its
// error.
inline constexpr int kCudaModuleVersion = 1;  // one more with each change of what is handed over

extern "C" {
using CudaCheck = const char*();  // whether the device runs the kernels
using CudaUpdateEightBits = const char*(const EightBitTensor& tensor, const AdamWRates& rates, void* stream);
using CudaUpdateHalves = const char*(const HalfTensor& tensor, const AdamWRates& rates, void* stream);
}

}  // namespace medley::kernels
