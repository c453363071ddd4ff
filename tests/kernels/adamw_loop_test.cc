#include <gtest/gtest.h>
#include <medley/kernels/adamw_loop.h>

#include <cmath>
#include <random>
#include <vector>

namespace medley::kernels {
namespace {

constexpr std::int64_t kNumbers = 5 * kBlock + 77;  // the last block is a part of one

std::vector<float> Normal(unsigned seed, double scale) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<float> values(kNumbers);
  for (float& value : values) value = static_cast<float>(normal(engine));
  return values;
}

// Of each block another kind: normal; of all magnitudes; with zeros; zeros alone.
std::vector<float> Mixed(unsigned seed) {
  std::vector<float> values = Normal(seed, 1e-3);
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> exponent(-12, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t kind = i / kBlock % 4;
    if (kind == 1) values[i] *= static_cast<float>(std::pow(10, exponent(engine)));
    if ((kind == 2 && i % 3 != 0) || kind == 3) values[i] = 0;
  }
  return values;
}

// Of step `step`, from 1.
AdamWRates RatesOf(int step, double beta2 = 0.95) {
  const double beta1 = 0.9, rate = 1e-3;
  return {.gradient_scale = 0.5F,
          .gain1 = static_cast<float>(1 - beta1),
          .keep2 = static_cast<float>(beta2),
          .gain2 = static_cast<float>(1 - beta2),
          .step = static_cast<float>(rate / (1 - std::pow(beta1, step))),
          .root_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, step))),
          .keep_weight = static_cast<float>(1 - rate * 0.1),
          .epsilon = 1e-8F,
          .multiplier = static_cast<std::uint32_t>(2 * step * 1'000'003 + 1),
          .shift = static_cast<std::uint32_t>(step * 77'777'777)};
}

struct EightBits {
  std::vector<float> weights = Normal(1, 0.02);
  std::vector<std::uint8_t> means = std::vector<std::uint8_t>(kNumbers), squares = means;
  std::vector<float> mean_scales = std::vector<float>(BlocksOf(kNumbers)), square_scales = mean_scales;

  void Step(const std::vector<float>& gradients, const AdamWRates& rates, std::int64_t begin,
            std::int64_t end, Instructions instructions) {
    UpdateBlocks(EightBitTensor{weights.data(), gradients.data(), means.data(), squares.data(),
                                mean_scales.data(), square_scales.data(), kNumbers},
                 rates, begin, end, instructions);
  }
  bool operator==(const EightBits&) const = default;
};

struct Halves {
  std::vector<float> weights = Normal(1, 0.02);
  std::vector<std::uint16_t> means = std::vector<std::uint16_t>(kNumbers), squares = means;

  void Step(const std::vector<float>& gradients, const AdamWRates& rates, std::int64_t begin,
            std::int64_t end, Instructions instructions) {
    UpdateBlocks(HalfTensor{weights.data(), gradients.data(), means.data(), squares.data(), kNumbers}, rates,
                 begin, end, instructions);
  }
  bool operator==(const Halves&) const = default;
};

std::vector<Instructions> Here() {
  std::vector<Instructions> here = {Instructions::kBase};
  for (const Instructions wider : {Instructions::kAvx2, Instructions::kAvx512}) {
    if (wider <= WidestInstructions()) here.push_back(wider);
  }
  return here;
}

// Whatever the instructions, and in whatever pieces, as threads take them.
template <typename Moments>
void ExpectTheSameBits() {
  for (const Instructions instructions : Here()) {
    Moments plain, other;
    for (int step = 1; step <= 5; ++step) {
      const std::vector<float> gradients = Mixed(10 + static_cast<unsigned>(step));
      plain.Step(gradients, RatesOf(step), 0, BlocksOf(kNumbers), Instructions::kBase);
      other.Step(gradients, RatesOf(step), 3, BlocksOf(kNumbers), instructions);
      other.Step(gradients, RatesOf(step), 0, 3, instructions);
    }
    EXPECT_TRUE(plain == other) << static_cast<int>(instructions);
  }
}

TEST(AdamWLoop, AllInstructionsAndPiecesGiveTheSameBits) {
  ExpectTheSameBits<EightBits>();
  ExpectTheSameBits<Halves>();
}

struct Exact {
  std::vector<double> weights, means = std::vector<double>(kNumbers), squares = means;

  void Step(const std::vector<float>& gradients, const AdamWRates& rates) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double gradient = static_cast<double>(gradients[i]) * rates.gradient_scale;
      means[i] += (gradient - means[i]) * rates.gain1;
      squares[i] = squares[i] * rates.keep2 + gradient * gradient * rates.gain2;
      weights[i] = weights[i] * rates.keep_weight -
                   rates.step * means[i] / (std::sqrt(squares[i]) * rates.root_scale + rates.epsilon);
    }
  }
};

template <typename Numbers>
Exact Beginning(const Numbers& from) {
  Exact exact;
  exact.weights.assign(from.weights.begin(), from.weights.end());
  return exact;
}

// The first step is exact, as there is nothing to decode; later ones are near.
template <typename Moments>
void ExpectNearTheFormula(double of_a_rate) {
  Moments moments;
  Exact exact = Beginning(moments);
  for (int step = 1; step <= 20; ++step) {
    const std::vector<float> gradients = Normal(50 + static_cast<unsigned>(step), 1e-3);
    moments.Step(gradients, RatesOf(step), 0, BlocksOf(kNumbers), WidestInstructions());
    exact.Step(gradients, RatesOf(step));
    double squares = 0;
    for (std::size_t i = 0; i < exact.weights.size(); ++i)
      squares += std::pow((moments.weights[i] - exact.weights[i]) / 1e-3, 2);
    EXPECT_LT(std::sqrt(squares / kNumbers), step == 1 ? 1e-4 : of_a_rate * std::sqrt(step)) << step;
  }
}

TEST(AdamWLoop, FollowsTheFormula) {
  ExpectNearTheFormula<EightBits>(0.03);
  ExpectNearTheFormula<Halves>(0.01);
}

// With a decay below half of what the codes tell apart, rounding to nearest would leave it where it is.
TEST(AdamWLoop, AMeanOfSquaresInHalvesFallsThoughADecayIsTooSmallForItsType) {
  Halves moments;
  const std::vector<float> some = Normal(3, 1e-3), none(kNumbers, 0.0F);
  moments.Step(some, RatesOf(1, 0.999), 0, BlocksOf(kNumbers), WidestInstructions());
  double before = 0, after = 0;
  for (const std::uint16_t square : moments.squares) before += WidenedHalf(square);
  for (int step = 2; step <= 501; ++step)
    moments.Step(none, RatesOf(step, 0.999), 0, BlocksOf(kNumbers), WidestInstructions());
  for (const std::uint16_t square : moments.squares) after += WidenedHalf(square);
  EXPECT_NEAR(after / before, std::pow(0.999, 500), 0.01);
}

// A row of a table that a step does not use has gradients of 0 beside large ones.
TEST(AdamWLoop, ASmallSquareDoesNotBecomeZeroUnderItsMean) {
  EightBits moments;
  std::vector<float> gradients = Normal(3, 1.0);
  for (std::size_t i = 0; i < gradients.size(); i += 2) gradients[i] = 2e-4F;
  const std::vector<float> start = moments.weights;
  AdamWRates rates = RatesOf(1);
  rates.keep_weight = 1;
  moments.Step(gradients, rates, 0, BlocksOf(kNumbers), WidestInstructions());
  for (std::size_t i = 0; i < gradients.size(); i += 2) gradients[i] = 0;
  for (int step = 2; step <= 10; ++step) {
    rates = RatesOf(step);
    rates.keep_weight = 1;
    moments.Step(gradients, rates, 0, BlocksOf(kNumbers), WidestInstructions());
  }
  for (std::size_t i = 0; i < gradients.size(); i += 2)
    ASSERT_LT(std::abs(moments.weights[i] - start[i]), 10 * 1e-3) << i;
}

TEST(AdamWLoop, CodesOfATensorGoThereAndBack) {
  for (const Map map : {Map::kSigned, Map::kUnsigned}) {
    std::vector<float> values = Normal(5, 1e-4), back(kNumbers), scales(BlocksOf(kNumbers));
    if (map == Map::kUnsigned) {
      for (float& value : values) value *= value;
    }
    std::vector<std::uint8_t> codes(kNumbers), again(kNumbers);
    Encode(map, values.data(), kNumbers, codes.data(), scales.data());
    Decode(map, codes.data(), scales.data(), kNumbers, back.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      // Half a part of the decade, of which the widest is 0.9 of a decade's top.
      const double scale = scales[i / kBlock];
      EXPECT_NEAR(back[i], values[i], 0.09 * std::abs(values[i]) + 5e-4 * scale) << i;
    }
    Encode(map, back.data(), kNumbers, again.data(), scales.data());
    EXPECT_EQ(codes, again);
  }
}

}  // namespace
}  // namespace medley::kernels
