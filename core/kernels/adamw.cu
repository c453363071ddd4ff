// AdamW of whole numbers, of many tensors a launch.
#include <medley/kernels/cuda_module.h>
#include <medley/kernels/device.h>
#include <medley/kernels/numbers.h>

namespace medley::kernels {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::int64_t kOfBlock = 4096;  // numbers
constexpr std::uint32_t kMost = 64;      // tensors a launch, by the 4 KiB of its arguments

struct Tensors {
  AdamWTensor of[kMost];
  std::uint32_t first[kMost];  // of each: its first block
  std::uint32_t count;
};

struct Rules {
  const float *learning_rate, *gradient_scale, *skip;
  float gain1, keep1, gain2, keep2;  // 1 - beta, beta
  float logarithm1, logarithm2;      // of both betas
  float epsilon, weight_decay;
  Number half_type;

  explicit Rules(const AdamWCall& call)
      : learning_rate(call.learning_rate),
        gradient_scale(call.gradient_scale),
        skip(call.skip),
        gain1(static_cast<float>(1 - call.beta1)),
        keep1(static_cast<float>(call.beta1)),
        gain2(static_cast<float>(1 - call.beta2)),
        keep2(static_cast<float>(call.beta2)),
        logarithm1(static_cast<float>(std::log(call.beta1))),
        logarithm2(static_cast<float>(std::log(call.beta2))),
        epsilon(static_cast<float>(call.epsilon)),
        weight_decay(static_cast<float>(call.weight_decay)),
        half_type(call.half_type) {}
};

// A tensor's rates in this step. As libtorch has them, but that 1 - beta^n is taken of the logarithm: of a
// beta near 1 a float's power would leave three digits, and a double's takes long.
struct StepRates {
  float gradient_scale, shrink, step, inverse_root;

  __device__ StepRates(const Rules& rules, float updates) {
    const float rate = *rules.learning_rate;
    gradient_scale = rules.gradient_scale != nullptr ? *rules.gradient_scale : 1;
    shrink = rate * rules.weight_decay;
    step = rate / -std::expm1(updates * rules.logarithm1);
    inverse_root = 1 / std::sqrt(-std::expm1(updates * rules.logarithm2));
  }
};

template <int kCount>
__device__ void StoreHalf(const Floats<kCount>& weights, Number type, void* half, std::int64_t place) {
  if (type == Number::kBf16) Store(weights, static_cast<Bf16*>(half) + place);
  if (type == Number::kFp16) Store(weights, static_cast<Fp16*>(half) + place);
}

template <int kCount>
__device__ void UpdateSome(const AdamWTensor& tensor, const Rules& rules, const StepRates& rates,
                           std::int64_t place) {
  Floats<kCount> weights = Load<kCount>(tensor.weights + place),
                 gradients = Load<kCount>(tensor.gradients + place),
                 means = Load<kCount>(tensor.means + place), squares = Load<kCount>(tensor.squares + place);
  for (int i = 0; i < kCount; ++i) {
    const float gradient = gradients.at[i] * rates.gradient_scale;
    means.at[i] = rules.keep1 * means.at[i] + rules.gain1 * gradient;
    squares.at[i] = rules.keep2 * squares.at[i] + rules.gain2 * gradient * gradient;
    weights.at[i] -= rates.shrink * weights.at[i];
    weights.at[i] -=
        rates.step * means.at[i] / (std::sqrt(squares.at[i]) * rates.inverse_root + rules.epsilon);
  }
  Store(weights, tensor.weights + place);
  Store(means, tensor.means + place);
  Store(squares, tensor.squares + place);
  if (tensor.half != nullptr) StoreHalf(weights, rules.half_type, tensor.half, place);
}

// Bytes a number: weight, mean and square 4 read and 4 written, gradient 4; the half copy 2.
__global__ void __launch_bounds__(kThreads) UpdateTensors(Tensors tensors, Rules rules) {
  if (rules.skip != nullptr && *rules.skip != 0) return;
  std::uint32_t low = 0, high = tensors.count;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (tensors.first[middle] <= blockIdx.x ? low : high) = middle;
  }
  const AdamWTensor& tensor = tensors.of[low];
  const std::int64_t begin = std::int64_t{blockIdx.x - tensors.first[low]} * kOfBlock,
                     end = begin + kOfBlock < tensor.numbers ? begin + kOfBlock : tensor.numbers;
  const StepRates rates(rules, *tensor.updates);
  constexpr int kCount = kWide<float>;
  const bool is_wide = IsAligned(tensor.weights) && IsAligned(tensor.gradients) && IsAligned(tensor.means) &&
                       IsAligned(tensor.squares) && IsAligned(tensor.half);
  const std::int64_t whole = is_wide ? begin + (end - begin) / kCount * kCount : begin;
  for (std::int64_t i = begin + threadIdx.x * kCount; i < whole; i += kThreads * kCount)
    UpdateSome<kCount>(tensor, rules, rates, i);
  for (std::int64_t i = whole + threadIdx.x; i < end; i += kThreads) UpdateSome<1>(tensor, rules, rates, i);
}

}  // namespace
}  // namespace medley::kernels

using namespace medley::kernels;

extern "C" const char* medley_kernels_adamw(const AdamWCall& call, void* stream) {
  const Rules rules(call);
  for (std::int64_t next = 0; next < call.count;) {
    Tensors tensors{};
    std::int64_t blocks = 0;
    for (; next < call.count && tensors.count < kMost; ++next) {
      const AdamWTensor& tensor = call.tensors[next];
      if (tensor.numbers == 0) continue;
      tensors.of[tensors.count] = tensor;
      tensors.first[tensors.count++] = static_cast<std::uint32_t>(blocks);
      blocks += (tensor.numbers + kOfBlock - 1) / kOfBlock;
      if (blocks > 0x7fffffff) return "adamw: more numbers than a launch has blocks for";
    }
    if (blocks == 0) continue;
    const char* const words =
        Launch(UpdateTensors, static_cast<std::size_t>(blocks), kThreads, 0, stream, tensors, rules);
    if (words != nullptr) return words;
  }
  return nullptr;
}
