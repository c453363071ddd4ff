#include <medley/step/compact_moments.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>

#include <medley/base/random.h>
#include <medley/model/parallel_for.h>

namespace medley {
namespace {

constexpr std::int64_t kBlocksOfThread = 64;  // fewer are not worth a thread

void UpdatePart(const CompactUpdate& update, std::int64_t begin, std::int64_t end) {
  if (update.moments.kind == MomentsKind::kBf16)
    return kernels::UpdateBlocks(HalvesOf(update), update.rates, begin, end);
  kernels::UpdateBlocks(EightBitsOf(update), update.rates, begin, end);
}

}  // namespace

CompactMoments::CompactMoments(MomentsKind kind, const at::Tensor& weights, std::string_view name)
    : kind(kind), seed(HashName(name)) {
  const at::TensorOptions options = weights.options().requires_grad(false);
  const at::ScalarType type = kind == MomentsKind::kBf16 ? at::kBFloat16 : at::kByte;
  means = at::zeros(weights.sizes(), options.dtype(type));
  squares = at::zeros(weights.sizes(), options.dtype(type));
  if (kind == MomentsKind::kBf16) return;
  mean_scales = at::zeros({kernels::BlocksOf(weights.numel())}, options.dtype(at::kFloat));
  square_scales = at::zeros({kernels::BlocksOf(weights.numel())}, options.dtype(at::kFloat));
}

std::int64_t CompactMoments::BytesFor(MomentsKind kind, std::int64_t numbers) {
  if (kind == MomentsKind::kBf16) return 2 * 2 * numbers;
  return 2 * (numbers + static_cast<std::int64_t>(sizeof(float)) * kernels::BlocksOf(numbers));
}

// Codes of 0 with a scale of 0 are moments of 0.
void CompactMoments::Reset() {
  for (at::Tensor* tensor : {&means, &squares, &mean_scales, &square_scales}) {
    if (tensor->defined()) tensor->zero_();
  }
}

kernels::AdamWRates CompactMoments::RatesFor(const CompactRates& rates, double update) const {
  const std::uint64_t random = CombineSeeds(seed, static_cast<std::uint64_t>(update));
  const auto narrow = [](double value) { return static_cast<float>(value); };
  return {.gradient_scale = narrow(rates.clip_scale),
          .gain1 = narrow(1 - rates.beta1),
          .keep2 = narrow(rates.beta2),
          .gain2 = narrow(1 - rates.beta2),
          .step = narrow(rates.learning_rate / (1 - std::pow(rates.beta1, update))),
          .root_scale = narrow(1 / std::sqrt(1 - std::pow(rates.beta2, update))),
          .keep_weight = narrow(1 - rates.learning_rate * rates.weight_decay),
          .epsilon = narrow(rates.epsilon),
          .multiplier = static_cast<std::uint32_t>(random) | 1U,
          .shift = static_cast<std::uint32_t>(random >> 32)};
}

kernels::EightBitTensor EightBitsOf(const CompactUpdate& update) {
  const CompactMoments& moments = update.moments;
  return {update.weights.mutable_data_ptr<float>(),
          update.gradients.const_data_ptr<float>(),
          moments.means.mutable_data_ptr<std::uint8_t>(),
          moments.squares.mutable_data_ptr<std::uint8_t>(),
          moments.mean_scales.mutable_data_ptr<float>(),
          moments.square_scales.mutable_data_ptr<float>(),
          update.weights.numel()};
}

kernels::HalfTensor HalvesOf(const CompactUpdate& update) {
  const auto bits = [](const at::Tensor& halves) {
    return static_cast<std::uint16_t*>(halves.mutable_data_ptr());
  };
  return {update.weights.mutable_data_ptr<float>(),
          update.gradients.const_data_ptr<float>(),
          bits(update.moments.means),
          bits(update.moments.squares),
          update.weights.numel(),
          update.place};
}

void UpdateOnCpu(const std::vector<CompactUpdate>& updates) {
  std::vector<std::int64_t> first = {0};  // blocks before each tensor, and in all
  for (const CompactUpdate& update : updates)
    first.push_back(first.back() + kernels::BlocksOf(update.weights.numel()));
  ParallelFor(0, first.back(), kBlocksOfThread, [&](std::int64_t begin, std::int64_t end) {
    auto tensor =
        static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), begin) - first.begin()) - 1;
    for (; begin < end; ++tensor) {
      const std::int64_t stop = std::min(end, first[tensor + 1]);
      UpdatePart(updates[tensor], begin - first[tensor], stop - first[tensor]);
      begin = stop;
    }
  });
}

}  // namespace medley
