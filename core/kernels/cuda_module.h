#pragma once

#include <medley/kernels/adamw_loop.h>
#include <medley/kernels/fused_calls.h>

namespace medley::kernels {

// What medley_kernels.so has, under C names, for who opens it with dlopen: medley_kernels_ and the word in
// brackets. Pointers are those of the device of the calling thread, `stream` is a cudaStream_t. Each function
// returns nullptr, or what CUDA says of its error, or what it cannot do; nothing waits.
inline constexpr int kCudaModuleVersion = 2;  // one more with each change of what is handed over: [version]

extern "C" {
using CudaCheck = const char*();  // [check] whether the device runs the kernels
using CudaUpdateEightBits = const char*(const EightBitTensor& tensor, const AdamWRates& rates,
                                        void* stream);  // [update_8bit]
using CudaUpdateHalves = const char*(const HalfTensor& tensor, const AdamWRates& rates,
                                     void* stream);                                    // [update_bf16]
using CudaNorm = const char*(const NormCall& call, void* stream);                      // [norm]
using CudaNormBackward = const char*(const NormBackwardCall& call, void* stream);      // [norm_backward]
using CudaGated = const char*(const GatedCall& call, void* stream);                    // [gated]
using CudaGatedBackward = const char*(const GatedBackwardCall& call, void* stream);    // [gated_backward]
using CudaLosses = const char*(const LossesCall& call, void* stream);                  // [losses]
using CudaLossesBackward = const char*(const LossesBackwardCall& call, void* stream);  // [losses_backward]
using CudaAdamW = const char*(const AdamWCall& call, void* stream);                    // [adamw]
}

}  // namespace medley::kernels
