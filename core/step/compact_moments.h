#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include <medley/config/optimizer_config.h>
#include <medley/kernels/adamw_loop.h>

namespace medley {

// What the names of a parameter's moments end in, and of their scales: these have kScalesOf more.
inline constexpr const char *kMeans = ".exp_avg", *kSquares = ".exp_avg_sq";
inline constexpr std::string_view kScalesOf = "_scale";
inline constexpr const char *kMeanScales = ".exp_avg_scale", *kSquareScales = ".exp_avg_sq_scale";

// AdamW's rates, for all tensors of a group.
struct CompactRates {
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  double clip_scale = 1;  // times the gradients
};

// AdamW's two moments of one tensor of float in fewer bits: bfloat16, rounded at random, or eight bits with a
// scale for each block of 256 numbers (kernels/dynamic_code.h).
struct CompactMoments {
  // Of zeros. `kind`: not kFloat; `weights`: contiguous.
  CompactMoments(MomentsKind kind, const at::Tensor& weights, std::string_view name);
  static std::int64_t BytesFor(MomentsKind kind, std::int64_t numbers);  // of both

  void Reset();
  // Of the update of this number, from 1. What is rounded at random follows from it and the name.
  kernels::AdamWRates RatesFor(const CompactRates& rates, double update) const;

  MomentsKind kind;
  std::uint64_t seed;
  at::Tensor means, squares;              // in the shape of the weights
  at::Tensor mean_scales, square_scales;  // [blocks]; undefined for kBf16
};

// One tensor's part of a step. All contiguous.
struct CompactUpdate {
  at::Tensor weights, gradients;
  const CompactMoments& moments;
  kernels::AdamWRates rates;
  std::int64_t place = 0;  // of the first number, where they are a part of a tensor: a multiple of a block's
};

// Its arrays, as the kernels read them.
kernels::EightBitTensor EightBitsOf(const CompactUpdate& update);
kernels::HalfTensor HalvesOf(const CompactUpdate& update);

// All of them in one pass over memory, by all threads, whose number changes nothing. Allocates no tensor.
void UpdateOnCpu(const std::vector<CompactUpdate>& updates);

}  // namespace medley
