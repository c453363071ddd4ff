#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/typeid.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace medley {

// Puts back what a plugin's code may move while it is loaded, makes a task or builds a constant: the default
// generators of the CPU and of every CUDA device, the default dtype, grad mode, the number of threads.
// Without it, what a run computes would depend on when each of its tasks was drawn first. Until then the
// generators are seeded, so that what the plugin draws does not depend on it either.
class GlobalStateGuard {
 public:
  explicit GlobalStateGuard(std::uint64_t seed);
  ~GlobalStateGuard();
  GlobalStateGuard(const GlobalStateGuard&) = delete;
  GlobalStateGuard& operator=(const GlobalStateGuard&) = delete;

 private:
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;  // with their state
  caffe2::TypeMeta dtype_;
  bool grad_mode_;
  int threads_;
};

}  // namespace medley
