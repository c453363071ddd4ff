#include <medley/model/gpu_kernels.h>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <map>
#include <mutex>

#include <medley/base/error.h>

namespace medley {
namespace {

std::string ProblemOf(c10::Device device) {
  if (!device.is_cuda()) return "they are not on a GPU of CUDA's";
  if (!c10::impl::hasDeviceGuardImpl(device.type())) return "this libtorch has no CUDA";
  const kernels::Module& module = kernels::TheModule();
  if (!module.problem.empty()) return module.problem;
  const c10::DeviceGuard guard(device);
  const char* const words = module.check();
  return words == nullptr ? "" : std::string("this GPU does not run medley_kernels.so: ") + words;
}

}  // namespace

const std::string& KernelsProblem(c10::Device device) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(device.str());
  return found != known.end() ? found->second : known.emplace(device.str(), ProblemOf(device)).first->second;
}

std::string KindOfGpu(c10::Device device) {
  const auto [free, total] = c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index());
  return std::to_string(total) + " bytes";
}

void* StreamOf(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
}

void CheckLaunch(const char* words) {
  if (words != nullptr) throw Error(std::string("a kernel of medley_kernels.so failed: ") + words);
}

}  // namespace medley
