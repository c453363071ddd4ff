#include <medley/base/named_torch.h>

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include <medley/base/error.h>
#include <medley/base/user_directories.h>
#include <medley/base/version.h>

namespace medley {

void OpenNamedTorch() {
  namespace fs = std::filesystem;
  const auto named = Environment("MEDLEY_TORCH_ROOT");
  if (!named) return;
  for (const char* below : {"lib", "lib64", "lib/x86_64-linux-gnu", "."}) {
    const fs::path library = fs::path(*named) / below / "libtorch_cpu.so";
    std::error_code ignored;
    if (!fs::exists(library, ignored)) continue;
    // By its absolute path: the linker then knows it by its name, and looks for no other.
    if (dlopen(fs::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr) return;
    throw InputError("MEDLEY_TORCH_ROOT: cannot open " + library.string() + ": " + dlerror());
  }
  throw InputError("MEDLEY_TORCH_ROOT is " + *named +
                   ", and there is no lib/libtorch_cpu.so below it; name the folder of a libtorch " +
                   std::string(Torch().version) + " (of a Python package: site-packages/torch)");
}

}  // namespace medley
