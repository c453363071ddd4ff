#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace medley {

// "cpu" or "cuda"; opens libtorch's CUDA library on demand. InputError where there is no such device.
at::Device OpenDevice(const std::string& name);

// Waits until the device has done all that was asked of it.
void Synchronize(at::Device device);

// libtorch seeds the CPU's generator from the clock; a run starts from its own seed.
void SeedGenerators(std::uint64_t seed, at::Device device);
// The states of libtorch's own generators: the CPU's and the device's.
nlohmann::json SaveGenerators(at::Device device);
void LoadGenerators(const nlohmann::json& state, at::Device device);

// Puts the generators back where they were, whatever is done in between: without allocating, so also where
// that ran out of memory.
class KeepGenerators {
 public:
  explicit KeepGenerators(at::Device device);
  ~KeepGenerators();
  KeepGenerators(const KeepGenerators&) = delete;
  KeepGenerators& operator=(const KeepGenerators&) = delete;

 private:
  at::Device device_;
  at::Tensor cpu_, accelerator_;  // the latter undefined on the CPU
};

}  // namespace medley
