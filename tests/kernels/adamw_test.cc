#include <kernels/fused_testing.h>

#include <memory>

namespace medley::kernels {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon1 = 1e-8, kDecay = 0.1, kRate = 1e-3;

// A tensor's numbers before a step.
struct Updated {
  Updated(std::int64_t numbers, double updates, Number half_type, std::int64_t misaligned,
          std::mt19937& engine)
      : weights(Number::kFloat, numbers, misaligned),
        gradients(Number::kFloat, numbers, misaligned),
        means(Number::kFloat, numbers, misaligned),
        squares(Number::kFloat, numbers),
        half(half_type, numbers),
        updates(Number::kFloat, 1) {
    weights.Fill(engine, 0.1), gradients.Fill(engine, 1e-2), means.Fill(engine, 1e-2);
    for (std::int64_t i = 0; i < numbers; ++i)
      squares.Set(i, updates == 1 ? 0 : 1e-4 * gradients[i] * means[i] * (i % 3));
    for (std::int64_t i = 0; i < numbers; ++i) squares.Set(i, std::abs(squares[i]));
    this->updates.Set(0, updates);
  }

  AdamWTensor Tensor(bool has_half) {
    return {.weights = weights.floats(),
            .gradients = gradients.floats(),
            .means = means.floats(),
            .squares = squares.floats(),
            .half = has_half ? half.data() : nullptr,
            .updates = updates.floats(),
            .numbers = weights.size()};
  }

  Buffer weights, gradients, means, squares, half, updates;
};

struct Step {
  explicit Step(Number half_type) : half_type(half_type) {
    std::mt19937 engine(static_cast<unsigned>(half_type));
    for (int i = 0; i < 150; ++i) {
      constexpr std::int64_t kSizes[] = {0, 1, 3, 4, 20, 128, 257};
      constexpr double kCounts[] = {1, 2, 1000, 1e5};
      const std::int64_t numbers = i == 70 ? 3 * 4096 + 5 : i == 140 ? 4096 : OneOf(engine, kSizes);
      tensors.push_back(
          std::make_unique<Updated>(numbers, OneOf(engine, kCounts), half_type, i % 4 == 0, engine));
      given.push_back(tensors.back()->Tensor(HasHalf(given.size())));
    }
    rate.Set(0, kRate), scale.Set(0, 0.25), skip.Set(0, 0);
  }
  bool HasHalf(std::size_t i) const { return half_type != Number::kFloat && i % 5 != 0; }

  AdamWCall Call(bool has_scale) {
    return {.tensors = given.data(),
            .count = static_cast<std::int64_t>(given.size()),
            .half_type = half_type,
            .learning_rate = rate.floats(),
            .gradient_scale = has_scale ? scale.floats() : nullptr,
            .skip = skip.floats(),
            .beta1 = kBeta1,
            .beta2 = kBeta2,
            .epsilon = kEpsilon1,
            .weight_decay = kDecay};
  }
  std::vector<Buffer*> Outputs() {
    std::vector<Buffer*> outputs;
    for (const auto& tensor : tensors)
      outputs.insert(outputs.end(), {&tensor->weights, &tensor->means, &tensor->squares, &tensor->half});
    return outputs;
  }

  Number half_type;
  std::vector<std::unique_ptr<Updated>> tensors;
  std::vector<AdamWTensor> given;
  Buffer rate{Number::kFloat, 1}, scale{Number::kFloat, 1}, skip{Number::kFloat, 1};
};

std::vector<double> ValuesOf(const Buffer& buffer) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < buffer.size(); ++i) values.push_back(buffer[i]);
  return values;
}

void ExpectUpdated(Updated& tensor, const std::vector<double>& weights, const std::vector<double>& means,
                   const std::vector<double>& squares, double scale, bool has_half) {
  const double updates = tensor.updates[0], correction1 = 1 - std::pow(kBeta1, updates),
               correction2 = 1 - std::pow(kBeta2, updates);
  for (std::int64_t i = 0; i < tensor.weights.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double gradient = tensor.gradients[i] * scale, mean = kBeta1 * means[at] + (1 - kBeta1) * gradient,
                 square = kBeta2 * squares[at] + (1 - kBeta2) * gradient * gradient,
                 step = kRate / correction1 * mean / (std::sqrt(square / correction2) + kEpsilon1),
                 weight = weights[at] - kRate * kDecay * weights[at] - step;
    const double mean_size = std::abs(kBeta1 * means[at]) + std::abs((1 - kBeta1) * gradient);
    tensor.means.Expect(i, mean, mean_size, 4), tensor.squares.Expect(i, square, square, 4);
    const double step_size = std::abs(step) * (1 + (mean == 0 ? 0 : mean_size / std::abs(mean)));
    tensor.weights.Expect(i, weight, std::abs(weights[at]) + 8 * step_size, 2);
    if (has_half) tensor.half.Expect(i, tensor.weights[i], 0);
  }
  tensor.half.ExpectNoOther();
}

TEST(AdamWKernel, OfManyTensorsIsWhatFloat64MakesOfIt) {
  for (const Number half_type : kNumberTypes) {
    Step step(half_type);
    const bool has_scale = half_type != Number::kBf16;
    std::vector<std::vector<double>> before;
    for (const Buffer* output : step.Outputs()) before.push_back(ValuesOf(*output));
    RunBothWays(step.Outputs(), [&] { return medley_kernels_adamw(step.Call(has_scale), nullptr); });
    for (std::size_t i = 0; i < step.tensors.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectUpdated(*step.tensors[i], before[4 * i], before[4 * i + 1], before[4 * i + 2],
                    has_scale ? 0.25 : 1, step.HasHalf(i));
    }
  }
}

TEST(AdamWKernel, SkippedWritesNothing) {
  Step step(Number::kBf16);
  step.skip.Set(0, 1), step.scale.Set(0, std::nan(""));
  std::vector<std::vector<unsigned char>> before;
  for (const Buffer* output : step.Outputs()) before.push_back(output->bytes());
  EXPECT_STREQ(medley_kernels_adamw(step.Call(true), nullptr), nullptr);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(step.Outputs()[i]->bytes(), before[i]);
}

// Moments of fewer bits, of whole blocks and a part of one.
template <typename Tensor>
struct Compact {
  static constexpr std::int64_t kNumbers = 3 * kBlock + 77;

  std::vector<float> weights = std::vector<float>(kNumbers, 0.5F), gradients = weights;
  std::vector<std::uint16_t> means = std::vector<std::uint16_t>(kNumbers), squares = means;
  std::vector<float> scales = std::vector<float>(2 * BlocksOf(kNumbers));

  Compact() {
    std::mt19937 engine(5);
    std::normal_distribution<float> normal;
    for (float& gradient : gradients) gradient = normal(engine);
  }
  Tensor Of() {
    if constexpr (std::is_same_v<Tensor, HalfTensor>) {
      return {weights.data(), gradients.data(), means.data(), squares.data(), kNumbers};
    } else {
      return {weights.data(),
              gradients.data(),
              reinterpret_cast<std::uint8_t*>(means.data()),
              reinterpret_cast<std::uint8_t*>(squares.data()),
              scales.data(),
              scales.data() + BlocksOf(kNumbers),
              kNumbers};
    }
  }
  bool operator==(const Compact&) const = default;
};

template <typename Tensor, typename Kernel>
void ExpectTheCpusBits(Kernel* kernel) {
  AdamWRates rates{.gradient_scale = 0.5F, .gain1 = 0.1F, .keep2 = 0.999F, .gain2 = 0.001F, .step = 1e-3F};
  rates.epsilon = 1e-8F;
  Compact<Tensor> on_cpu, by_kernel;
  for (int step = 0; step < 3; ++step) {
    UpdateBlocks(on_cpu.Of(), rates, 0, BlocksOf(Compact<Tensor>::kNumbers));
    EXPECT_STREQ(kernel(by_kernel.Of(), rates, nullptr), nullptr);
  }
  EXPECT_TRUE(on_cpu == by_kernel);
  EXPECT_NE(by_kernel.weights[0], 0.5F);
}

TEST(AdamWKernel, OfMomentsInFewerBitsHasTheCpusBits) {
  ExpectTheCpusBits<EightBitTensor>(&medley_kernels_update_8bit);
  ExpectTheCpusBits<HalfTensor>(&medley_kernels_update_bf16);
}

}  // namespace
}  // namespace medley::kernels
