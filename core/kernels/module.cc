#include <medley/kernels/module.h>

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

#include <medley/base/version.h>

namespace medley::kernels {
namespace {

std::filesystem::path FileOfModule() {
  const char* const named = std::getenv("MEDLEY_KERNELS");
  return named != nullptr && *named != '\0' ? named : LibraryDirectory() / "medley" / "medley_kernels.so";
}

}  // namespace

Module OpenModule(const std::filesystem::path& file) {
  Module module;
  if (file == "0") {
    module.problem = "MEDLEY_KERNELS is 0";
    return module;
  }
  if (!std::filesystem::exists(file)) {
    module.problem =
        file.filename().string() + " is not there: it is built where nvcc is, which tools/setup --cuda gets";
    return module;
  }
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    module.problem = file.filename().string() + " cannot be opened: " + dlerror();
    return module;
  }
  const auto* version = static_cast<const int*>(dlsym(handle, "medley_kernels_version"));
  if (version == nullptr || *version != kCudaModuleVersion) {
    module.problem =
        file.filename().string() + " is of another build of medley: build or install both together";
    return module;
  }
  const auto get = [&](auto*& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr) module.problem = file.filename().string() + " lacks " + name;
  };
  get(module.check, "medley_kernels_check");
  get(module.update_8bit, "medley_kernels_update_8bit");
  get(module.update_bf16, "medley_kernels_update_bf16");
  get(module.norm, "medley_kernels_norm");
  get(module.norm_backward, "medley_kernels_norm_backward");
  get(module.gated, "medley_kernels_gated");
  get(module.gated_backward, "medley_kernels_gated_backward");
  get(module.losses, "medley_kernels_losses");
  get(module.losses_backward, "medley_kernels_losses_backward");
  get(module.adamw, "medley_kernels_adamw");
  return module;
}

const Module& TheModule() {
  static const Module kModule = OpenModule(FileOfModule());
  return kModule;
}

}  // namespace medley::kernels
