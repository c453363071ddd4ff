#pragma once

#include <ATen/ThreadLocalState.h>
#include <ATen/core/Tensor.h>

#include <optional>

#include <medley/model/device.h>

namespace medley {

// What libtorch has once in a process and a run and the program around it both have a say in: the generators'
// states, the number of threads, the default type, whether a GPU must compute the same bits each time. (How
// exactly it multiplies matrices is a run's to say, and stays so.) A GPU's generator counts from the second
// turn on: who opens a GPU seeds it.
class LibtorchSettings {
 public:
  // As they are now; `device`: whose generator counts beside the CPU's.
  explicit LibtorchSettings(at::Device device);
  void PutBack() const;

 private:
  GeneratorStates generators_;
  int threads_;
  at::ScalarType default_type_;
  bool deterministic_, only_warns_, deterministic_cudnn_, fills_;
};

// A run's own ones. To be used on one thread.
class OwnSettings {
 public:
  // While one lives libtorch is the run's: what it set in its last turn holds again, and what libtorch has
  // once in a thread (whether gradients are recorded, autocast, hooks of saved tensors) is as in one that
  // nobody set anything in. Then libtorch is the program's, as it was.
  class Turn {
   public:
    explicit Turn(OwnSettings& own);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    OwnSettings& own_;
    at::ThreadLocalStateGuard as_in_a_new_thread_;
    LibtorchSettings before_;
  };

  // What it computes on, once that is open.
  void SetDevice(at::Device device) { device_ = device; }

 private:
  at::Device device_ = at::kCPU;
  std::optional<LibtorchSettings> own_;  // nothing before its first turn is over
};

}  // namespace medley
