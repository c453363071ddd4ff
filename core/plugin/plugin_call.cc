#include "plugin_call.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>

#include <mutex>

#include <medley/base/torch_runtime.h>

namespace medley {
namespace {

std::vector<at::Generator> DefaultGenerators() {
  std::vector<at::Generator> generators = {at::detail::getDefaultCPUGenerator()};
  if (CudaIsOpen()) {
    const int devices = at::detail::getCUDAHooks().deviceCount();
    for (int i = 0; i < devices; ++i) {
      generators.push_back(
          at::globalContext().defaultGenerator(at::Device(at::kCUDA, static_cast<int8_t>(i))));
    }
  }
  return generators;
}

}  // namespace

GlobalStateGuard::GlobalStateGuard(std::uint64_t seed)
    : dtype_(c10::get_default_dtype()),
      grad_mode_(c10::GradMode::is_enabled()),
      threads_(at::get_num_threads()) {
  for (at::Generator& generator : DefaultGenerators()) {
    const std::scoped_lock lock(generator.mutex());
    generators_.emplace_back(generator, generator.get_state());
    generator.set_current_seed(seed);
  }
}

GlobalStateGuard::~GlobalStateGuard() {
  for (auto& [generator, state] : generators_) {
    const std::scoped_lock lock(generator.mutex());
    generator.set_state(state);
  }
  // Written only where it moved: data threads read it.
  if (c10::get_default_dtype() != dtype_) c10::set_default_dtype(dtype_);
  c10::GradMode::set_enabled(grad_mode_);
  if (at::get_num_threads() != threads_) at::set_num_threads(threads_);
}

}  // namespace medley
