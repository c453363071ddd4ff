#include <medley/update/compact_kernels.h>

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include <medley/base/error.h>
#include <medley/base/version.h>
#include <medley/kernels/cuda_module.h>

namespace medley {
namespace {

std::filesystem::path CudaLibrary() { return LibraryDirectory() / "medley" / "medley_kernels.so"; }

// Of medley_kernels.so; all null where it cannot be opened, or is of another build.
struct CudaModule {
  kernels::CudaCheck* check = nullptr;
  kernels::CudaUpdateEightBits* update_8bit = nullptr;
  kernels::CudaUpdateHalves* update_bf16 = nullptr;
  std::string problem;
};

CudaModule OpenModule(const std::filesystem::path& file) {
  CudaModule module;
  if (!std::filesystem::exists(file)) {
    module.problem =
        "medley_kernels.so is not there: it is built where nvcc is, which tools/setup --cuda gets";
    return module;
  }
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    module.problem = std::string("medley_kernels.so cannot be opened: ") + dlerror();
    return module;
  }
  const auto* version = static_cast<const int*>(dlsym(handle, "medley_kernels_version"));
  if (version == nullptr || *version != kernels::kCudaModuleVersion) {
    module.problem = "medley_kernels.so is of another build of medley: build or install both together";
    return module;
  }
  module.check = reinterpret_cast<kernels::CudaCheck*>(dlsym(handle, "medley_kernels_check"));
  module.update_8bit =
      reinterpret_cast<kernels::CudaUpdateEightBits*>(dlsym(handle, "medley_kernels_update_8bit"));
  module.update_bf16 =
      reinterpret_cast<kernels::CudaUpdateHalves*>(dlsym(handle, "medley_kernels_update_bf16"));
  return module;
}

const CudaModule& TheModule() {
  static const CudaModule kModule = OpenModule(CudaLibrary());
  return kModule;
}

std::string ProblemOf(c10::Device device) {
  if (!device.is_cuda()) return "they are not on a GPU of CUDA's";
  if (!c10::impl::hasDeviceGuardImpl(device.type())) return "this libtorch has no CUDA";
  const char* const wish = std::getenv("MEDLEY_KERNELS");
  if (wish != nullptr && std::string_view(wish) == "0") return "MEDLEY_KERNELS is 0";
  const CudaModule& module = TheModule();
  if (!module.problem.empty()) return module.problem;
  const c10::DeviceGuard guard(device);
  const char* const words = module.check();
  return words == nullptr ? "" : std::string("this GPU does not run medley_kernels.so: ") + words;
}

}  // namespace

std::string CudaModuleProblem(const std::filesystem::path& file) { return OpenModule(file).problem; }

const std::string& CompactKernelsProblem(c10::Device device) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(device.str());
  return found != known.end() ? found->second : known.emplace(device.str(), ProblemOf(device)).first->second;
}

void UpdateByKernel(const CompactUpdate& update) {
  const c10::Device device = update.weights.device();
  const c10::DeviceGuard guard(device);
  void* const stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
  const CudaModule& module = TheModule();
  const char* const words = update.kind == MomentsKind::kBf16
                                ? module.update_bf16(HalvesOf(update), update.rates, stream)
                                : module.update_8bit(EightBitsOf(update), update.rates, stream);
  if (words != nullptr) throw Error(std::string("a kernel of medley_kernels.so failed: ") + words);
}

}  // namespace medley
