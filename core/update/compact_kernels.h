#pragma once

#include <c10/core/Device.h>

#include <filesystem>
#include <string>

#include <medley/update/compact_update.h>

namespace medley {

// Why moments of fewer bits on this device are not updated by medley_kernels.so, in words; "": they are. The
// CPU's never are. Asks the device once.
const std::string& CompactKernelsProblem(c10::Device device);

// Why this file is no medley_kernels.so of this build, in words; "": it is.
std::string CudaModuleProblem(const std::filesystem::path& file);

// The update of UpdateOnCpu, to the bit, by a kernel on the tensors' device, on its current stream: one pass
// over memory. Only where the above is "". An Error has CUDA's words.
void UpdateByKernel(const CompactUpdate& update);

}  // namespace medley
