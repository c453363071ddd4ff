#pragma once

#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>

#include <string>

#include <medley/kernels/module.h>

namespace medley {

// Why this device does not compute by medley_kernels.so, in words; "": it does. The CPU never does. Asks the
// device once.
const std::string& KernelsProblem(c10::Device device);

// What kind of GPU that is, as far as libtorch's own interface tells: by the bytes of its memory.
std::string KindOfGpu(c10::Device device);

// A CUDA device's current stream.
void* StreamOf(c10::Device device);
// Throws an Error with the words that a kernel gave back, if any.
void CheckLaunch(const char* words);

// Calls a kernel on a device's current stream. Only where KernelsProblem is "".
template <typename Kernel, typename... Call>
void Launch(Kernel* kernel, c10::Device device, const Call&... call) {
  const c10::DeviceGuard guard(device);
  CheckLaunch(kernel(call..., StreamOf(device)));
}

}  // namespace medley
