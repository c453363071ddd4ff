#include <medley/base/torch_runtime.h>

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <atomic>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/version.h>

namespace medley {
namespace {

std::atomic<bool> cuda_is_open = false;

}  // namespace

std::filesystem::path LoadedTorchDirectory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::show_config), &info) == 0 || info.dli_fname == nullptr)
    return TorchLibraryDirectory();
  return std::filesystem::absolute(info.dli_fname).parent_path();
}

std::string CudaProblem(int devices, bool asked_in_time) {
  if (devices == 0)
    return "device \"cuda\": CUDA sees no GPU here. Check nvidia-smi, or set \"device\": \"cpu\"";
  if (!asked_in_time)
    return "device \"cuda\": libtorch was asked for CUDA before its library was open, and keeps to its first "
           "answer. That is a bug of medley or of a library that it loads; set \"device\": \"cpu\"";
  return "";
}

// Opened by hand because nothing here uses a symbol of it: the linker would drop it, and a CPU wheel has
// none.
void LoadCuda() {
  const std::filesystem::path directory = LoadedTorchDirectory(), library = directory / "libtorch_cuda.so";
  if (!std::filesystem::exists(library)) {
    throw InputError("device \"cuda\" needs a libtorch with CUDA; the one that is loaded, " +
                     Printable(directory) + ", has no libtorch_cuda.so (medley was built for " +
                     std::string(Torch().build) +
                     "). Run or build medley with a CUDA wheel, or set \"device\": \"cpu\"");
  }
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) == nullptr) {
    throw InputError(
        "cannot open " + Printable(library) + ": " + dlerror() +
        ". A machine with a GPU needs torch with all its dependencies: remove .venv and run tools/setup");
  }
  const int devices = c10::impl::VirtualGuardImpl(at::kCUDA).deviceCount();
  const std::string problem = CudaProblem(devices, at::globalContext().hasCUDA());
  if (!problem.empty()) throw InputError(problem);
  cuda_is_open = true;
}

bool CudaIsOpen() { return cuda_is_open; }

}  // namespace medley
