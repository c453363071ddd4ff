#include <medley/base/torch_runtime.h>

#include <ATen/Version.h>
#include <dlfcn.h>

#include <filesystem>

#include <medley/base/error.h>
#include <medley/base/version.h>

namespace medley {

std::string TorchConfiguration() { return at::show_config(); }

// Opened by hand because nothing here uses a symbol of it: the linker would drop it, and a CPU wheel has
// none.
void LoadCuda() {
  const std::filesystem::path library = TorchLibraryDirectory() / "libtorch_cuda.so";
  if (!std::filesystem::exists(library)) {
    throw InputError("device \"cuda\" needs a libtorch with CUDA; " + TorchRoot().string() + " (" +
                     std::string(Torch().build) +
                     ") has no libtorch_cuda.so. Build medley for a CUDA wheel, or " +
                     "set \"device\": \"cpu\"");
  }
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE) == nullptr) {
    throw InputError(
        "cannot open " + library.string() + ": " + dlerror() +
        ". A machine with a GPU needs torch with all its dependencies: remove .venv and run tools/setup");
  }
}

}  // namespace medley
