#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include <medley/config/optimizer_config.h>
#include <medley/kernels/adamw_loop.h>

namespace medley {

// One tensor's part of a step of AdamW whose two moments are in fewer bits: bfloat16, rounded at random, or
// eight bits with a scale for each block of 256 numbers (kernels/dynamic_code.h). Weights and gradients are
// float; all are contiguous.
struct CompactUpdate {
  MomentsKind kind = MomentsKind::k8Bit;  // not kFloat
  at::Tensor weights{}, gradients{};
  at::Tensor means{}, squares{};              // as many numbers
  at::Tensor mean_scales{}, square_scales{};  // [blocks]; undefined for kBf16
  kernels::AdamWRates rates{};
  std::int64_t place = 0;  // of the first number, where they are a part of a tensor: a multiple of a block's
};

// The rates of update `count`, from 1, of a parameter whose name has this hash: what is rounded at random
// follows from both. `clip_scale`: times the gradients.
kernels::AdamWRates CompactRates(const OptimizerConfig& config, double learning_rate, double weight_decay,
                                 double clip_scale, double count, std::uint64_t name_hash);

// Its arrays, as the kernels read them.
kernels::EightBitTensor EightBitsOf(const CompactUpdate& update);
kernels::HalfTensor HalvesOf(const CompactUpdate& update);

// All of them in one pass over memory, by all threads, whose number changes nothing. Allocates no tensor.
void UpdateOnCpu(const std::vector<CompactUpdate>& updates);
// The same bits by a kernel on the tensors' device, in one pass too. Only where KernelsProblem is "".
void UpdateByKernel(const CompactUpdate& update);

}  // namespace medley
