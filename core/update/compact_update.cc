#include <medley/update/compact_update.h>

#include <algorithm>
#include <cmath>

#include <medley/base/random.h>
#include <medley/model/gpu_kernels.h>
#include <medley/model/parallel_for.h>

namespace medley {
namespace {

constexpr std::int64_t kBlocksOfThread = 64;  // fewer are not worth a thread

void UpdatePart(const CompactUpdate& update, std::int64_t begin, std::int64_t end) {
  if (update.kind == MomentsKind::kBf16)
    return kernels::UpdateBlocks(HalvesOf(update), update.rates, begin, end);
  kernels::UpdateBlocks(EightBitsOf(update), update.rates, begin, end);
}

}  // namespace

kernels::AdamWRates CompactRates(const OptimizerConfig& config, double learning_rate, double weight_decay,
                                 double clip_scale, double count, std::uint64_t name_hash) {
  const std::uint64_t random = CombineSeeds(name_hash, static_cast<std::uint64_t>(count));
  const auto narrow = [](double value) { return static_cast<float>(value); };
  return {.gradient_scale = narrow(clip_scale),
          .gain1 = narrow(1 - config.beta1),
          .keep2 = narrow(config.beta2),
          .gain2 = narrow(1 - config.beta2),
          .step = narrow(learning_rate / (1 - std::pow(config.beta1, count))),
          .root_scale = narrow(1 / std::sqrt(1 - std::pow(config.beta2, count))),
          .keep_weight = narrow(1 - learning_rate * weight_decay),
          .epsilon = narrow(config.epsilon),
          .multiplier = static_cast<std::uint32_t>(random) | 1U,
          .shift = static_cast<std::uint32_t>(random >> 32)};
}

kernels::EightBitTensor EightBitsOf(const CompactUpdate& update) {
  return {update.weights.mutable_data_ptr<float>(),
          update.gradients.const_data_ptr<float>(),
          update.means.mutable_data_ptr<std::uint8_t>(),
          update.squares.mutable_data_ptr<std::uint8_t>(),
          update.mean_scales.mutable_data_ptr<float>(),
          update.square_scales.mutable_data_ptr<float>(),
          update.weights.numel()};
}

kernels::HalfTensor HalvesOf(const CompactUpdate& update) {
  const auto bits = [](const at::Tensor& halves) {
    return static_cast<std::uint16_t*>(halves.mutable_data_ptr());
  };
  return {update.weights.mutable_data_ptr<float>(),
          update.gradients.const_data_ptr<float>(),
          bits(update.means),
          bits(update.squares),
          update.weights.numel(),
          update.place};
}

void UpdateOnCpu(const std::vector<CompactUpdate>& updates) {
  std::vector<std::int64_t> first = {0};  // blocks before each tensor, and in all
  for (const CompactUpdate& update : updates)
    first.push_back(first.back() + kernels::BlocksOf(update.weights.numel()));
  ParallelFor(0, first.back(), kBlocksOfThread, [&](std::int64_t begin, std::int64_t end) {
    auto tensor = static_cast<std::size_t>(std::ranges::upper_bound(first, begin) - first.begin()) - 1;
    for (; begin < end; ++tensor) {
      const std::int64_t stop = std::min(end, first[tensor + 1]);
      UpdatePart(updates[tensor], begin - first[tensor], stop - first[tensor]);
      begin = stop;
    }
  });
}

void UpdateByKernel(const CompactUpdate& update) {
  const kernels::Module& module = kernels::TheModule();
  if (update.kind == MomentsKind::kBf16)
    Launch(module.update_bf16, update.weights.device(), HalvesOf(update), update.rates);
  else
    Launch(module.update_8bit, update.weights.device(), EightBitsOf(update), update.rates);
}

}  // namespace medley
