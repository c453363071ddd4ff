#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace medley {

// How a GPU computes; the CPU computes one way only.
struct Numerics {
  bool deterministic = false;              // the same bits at every run, of slower kernels
  std::string matmul_precision = "float";  // or "tf32": 10 bits of mantissa in products of float matrices
};

// "cpu" or "cuda"; opens libtorch's CUDA library on demand. InputError where there is no such device.
at::Device OpenDevice(const std::string& name, const Numerics& numerics = {});

// CUDA_VISIBLE_DEVICES of a process that is to see one GPU of its machine, the one with this number among
// those that `environment` (null: none) lets it see. Where that is a single one, it stays: a scheduler gave
// it.
std::string OneOfTheGpus(const char* environment, std::int64_t number);

// What CUBLAS_WORKSPACE_CONFIG must be for products that are the same at every run: the environment's value
// (null: none) where it is one of those. cuBLAS reads it when it is opened.
std::string WorkspaceConfig(const char* environment);
// Tells libtorch how to compute on a GPU. For another type of device nothing changes.
void ApplyNumerics(at::DeviceType type, const Numerics& numerics);

// Multiplies small matrices forward and backward: cuBLAS gives each thread that computes a workspace of its
// own, which belongs to the floor, and not to the task that happens to come first.
void WarmUpProducts(at::Device device);

// Waits until the device has done all that was asked of it.
void Synchronize(at::Device device);

// libtorch seeds the CPU's generator from the clock; a run starts from its own seed.
void SeedGenerators(std::uint64_t seed, at::Device device);
// The states of libtorch's own generators, the CPU's and the device's, as a checkpoint has them.
nlohmann::json SaveGenerators(at::Device device);
void LoadGenerators(const nlohmann::json& state, at::Device device);

// The same as they are when it is made, within the process.
class GeneratorStates {
 public:
  explicit GeneratorStates(at::Device device);
  // Allocates no tensor's memory.
  void PutBack() const;

 private:
  std::vector<std::pair<at::Device, std::vector<std::uint8_t>>> states_;
};

// Puts the generators back where they were, whatever is done in between: without allocating, so also where
// that ran out of memory.
class KeepGenerators {
 public:
  explicit KeepGenerators(at::Device device) : states_(device) {}
  ~KeepGenerators() { states_.PutBack(); }
  KeepGenerators(const KeepGenerators&) = delete;
  KeepGenerators& operator=(const KeepGenerators&) = delete;

 private:
  GeneratorStates states_;
};

}  // namespace medley
