#pragma once

#include <filesystem>
#include <string>

#include <medley/kernels/cuda_module.h>

namespace medley::kernels {

// medley_kernels.so as it was opened; all null where it cannot be, or is of another build.
struct Module {
  CudaCheck* check = nullptr;
  CudaUpdateEightBits* update_8bit = nullptr;
  CudaUpdateHalves* update_bf16 = nullptr;
  CudaNorm* norm = nullptr;
  CudaNormBackward* norm_backward = nullptr;
  CudaGated* gated = nullptr;
  CudaGatedBackward* gated_backward = nullptr;
  CudaLosses* losses = nullptr;
  CudaLossesBackward* losses_backward = nullptr;
  CudaAdamW* adamw = nullptr;
  std::string problem;  // why they are null, in words
};

Module OpenModule(const std::filesystem::path& file);
// The one beside the library, or the file that the environment's MEDLEY_KERNELS names: "0" is none. Opened
// once.
const Module& TheModule();

}  // namespace medley::kernels
