#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/step/abandon.h>
#include <medley/step/passes/pass_forward.h>
#include <medley/step/passes/saved_variables.h>
#include <torch/csrc/autograd/autograd.h>

#include <thread>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;
using LayerFn = std::function<at::Tensor(const at::Tensor&)>;

class LayerRecompute : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    InstallCpuAllocator();
    InstallSavedVariableHooks();
    DrainEngine();
  }

  // Four layers that save inputs, outputs, weights, indices and what an operator writes in place.
  at::Tensor Layer(const at::Tensor& x, int i) const {
    const at::Tensor y = at::addmm(bias_, x, weights_[static_cast<std::size_t>(i)]).relu_();
    const at::Tensor best = std::get<0>(y.sort(1));
    return (at::softmax(y, 1) * best).sigmoid() + x;
  }
  at::Tensor Forward(const at::Tensor& x, int recomputed) const {
    at::Tensor y = x;
    for (int i = 0; i < 4; ++i) {
      const LayerFn fn = [this, i](const at::Tensor& in) {
        ++runs_;
        return Layer(in, i);
      };
      y = i < recomputed ? RunRecomputed("'test' " + std::to_string(i), y, fn) : fn(y);
    }
    return y.pow(2).sum();
  }
  std::vector<at::Tensor> Leaves() const {
    std::vector<at::Tensor> leaves = weights_;
    leaves.push_back(bias_);
    return leaves;
  }
  Gradient GradientOf(const at::Tensor& loss) const {
    torch::autograd::backward({loss});
    Gradient gradient;
    for (at::Tensor& leaf : Leaves()) {
      gradient.push_back(leaf.grad().clone());
      leaf.mutable_grad().reset();
    }
    return gradient;
  }

  std::vector<at::Tensor> weights_ = [] {
    std::vector<at::Tensor> weights;
    for (int i = 0; i < 4; ++i)
      weights.push_back(Numbers(std::to_string(i), {16, 16}, 0.5).set_requires_grad(true));
    return weights;
  }();
  at::Tensor bias_ = Numbers("bias", {16}, 0.5).set_requires_grad(true);
  at::Tensor x_ = Numbers("x", {64, 16}, 1.0);
  mutable int runs_ = 0;
};

TEST_F(LayerRecompute, GradientsAreTheSameBitForBit) {
  for (const bool input_needs_gradient : {false, true}) {
    const at::Tensor x = x_.clone().set_requires_grad(input_needs_gradient);
    const Gradient expected = GradientOf(Forward(x, 0));
    const at::Tensor of_input = input_needs_gradient ? x.grad().clone() : at::Tensor();
    for (int recomputed = 1; recomputed <= 4; ++recomputed) {
      if (input_needs_gradient) x.mutable_grad().reset();
      EXPECT_TRUE(SameBits(GradientOf(Forward(x, recomputed)), expected)) << recomputed;
      if (input_needs_gradient) {
        EXPECT_TRUE(at::equal(x.grad(), of_input));
      }
    }
  }
}

TEST_F(LayerRecompute, EachLayerRunsTwiceAndAgainOnlyForItsBackward) {
  const at::Tensor loss = Forward(x_, 4);
  EXPECT_EQ(runs_, 4);
  GradientOf(loss);
  EXPECT_EQ(runs_, 8);
  const at::NoGradGuard no_graph;
  Forward(x_, 4);
  EXPECT_EQ(runs_, 12);
}

TEST_F(LayerRecompute, AGraphThatIsKeptGoesBackTwice) {
  const Gradient expected = GradientOf(Forward(x_, 0));
  const at::Tensor loss = Forward(x_, 4);
  torch::autograd::backward({loss}, {}, /*retain_graph=*/true);
  for (at::Tensor& leaf : Leaves()) leaf.mutable_grad().reset();
  EXPECT_TRUE(SameBits(GradientOf(loss), expected));
  EXPECT_EQ(runs_, 12);  // 4 plain, 4 forward, 4 again: not 8
}

TEST_F(LayerRecompute, OnlyInputsOfLayersAreKept) {
  GradientOf(Forward(x_, 4));
  const std::int64_t floor = ReadCpuMemory().now;
  const at::Tensor loss = Forward(x_, 4);
  const std::int64_t one = x_.numel() * 8;
  // Three inputs that were made on the way, what pow saves, and the loss.
  EXPECT_EQ(ReadCpuMemory().now - floor, 4 * one + 8);
}

TEST_F(LayerRecompute, PeaksLowerThanWithoutIt) {
  const auto peak = [&](int recomputed) {
    const std::int64_t floor = ReadCpuMemory().now;
    ResetCpuPeak();
    GradientOf(Forward(x_, recomputed));
    return ReadCpuMemory().peak - floor;
  };
  peak(0);
  EXPECT_LT(peak(4), 0.6 * static_cast<double>(peak(0)));
}

TEST_F(LayerRecompute, NothingIsLeftWithOrWithoutABackward) {
  GradientOf(Forward(x_, 4));
  const std::int64_t floor = ReadCpuMemory().now;
  for (int i = 0; i < 20; ++i) {
    { const at::Tensor forward_only = Forward(x_, 4); }
    EXPECT_EQ(ReadCpuMemory().now, floor);
    GradientOf(Forward(x_, 4));
    EXPECT_EQ(ReadCpuMemory().now, floor);
  }
}

TEST_F(LayerRecompute, ALayerThatThrowsLeavesNothing) {
  GradientOf(Forward(x_, 4));
  const std::int64_t floor = ReadCpuMemory().now;
  for (int at = 1; at <= 8; ++at) {  // in the forward, and again in the backward
    runs_ = -at;
    const auto loss = [&] {
      at::Tensor y = x_;
      for (int i = 0; i < 4; ++i) {
        y = RunRecomputed("'test' " + std::to_string(i), y, [this, i](const at::Tensor& in) {
          const at::Tensor out = Layer(in, i);
          if (++runs_ == 0) throw Error("a mistake in the model");
          return out;
        });
      }
      return y.sum();
    };
    EXPECT_EQ(MessageOf([&] { GradientOf(loss()); }), "a mistake in the model");
    for (at::Tensor& leaf : Leaves()) leaf.mutable_grad().reset();
    DrainEngine();
    EXPECT_EQ(ReadCpuMemory().now, floor) << at;
  }
}

TEST_F(LayerRecompute, AnotherSecondRunIsANamedError) {
  const auto message = [&](const LayerFn& second) {
    bool first = true;
    const at::Tensor y = RunRecomputed("'text' 7", x_, [&](const at::Tensor& in) {
      return std::exchange(first, false) ? Layer(in, 0) : second(in);
    });
    const std::string said = MessageOf([&] { torch::autograd::backward({y.sum()}); });
    for (at::Tensor& leaf : Leaves()) leaf.mutable_grad().reset();
    return said;
  };
  EXPECT_TRUE(Says(message([&](const at::Tensor& in) { return in.mm(weights_[0]); }),
                   {"'text' 7", "when it was run again", "must do the same", "recompute_every"}));
  EXPECT_TRUE(Says(message([&](const at::Tensor& in) { return Layer(Layer(in, 0), 1); }),
                   {"'text' 7", "saved more than that"}));
  EXPECT_TRUE(Says(message([&](const at::Tensor& in) { return Layer(in.narrow(0, 0, 60), 0); }),
                   {"'text' 7", "[60, 16] Double instead of [64, 16] Double"}));
  EXPECT_TRUE(Says(message([&](const at::Tensor& in) {
                     return at::addmm(bias_.to(at::kFloat), in.to(at::kFloat), weights_[0].to(at::kFloat));
                   }),
                   {"'text' 7", "Float instead of [64, 16] Double"}));
}

TEST_F(LayerRecompute, WritingToTheInputOfALayerIsAnError) {
  at::Tensor x = x_.clone();
  const at::Tensor y = RunRecomputed("'text' 0", x, [&](const at::Tensor& in) { return Layer(in, 0); });
  x.add_(1);
  EXPECT_TRUE(Says(MessageOf([&] { torch::autograd::backward({y.sum()}); }), {"[64, 16]", "in place"}));
}

TEST_F(LayerRecompute, TheBackwardMayRunOnAnotherThread) {
  const Gradient expected = GradientOf(Forward(x_, 0));
  const at::Tensor loss = Forward(x_, 4);
  Gradient got;
  std::thread other([&] { got = GradientOf(loss); });
  other.join();
  EXPECT_TRUE(SameBits(got, expected));
}

TEST_F(LayerRecompute, CountingAndRecomputingShareTheSlot) {
  const auto count = [&](int recomputed, Gradient* gradient) {
    CountSavedBytes counter;
    const at::Tensor loss = Forward(x_, recomputed);
    for (const at::Tensor& leaf : Leaves()) counter.Exclude(leaf);
    const std::int64_t bytes = counter.bytes();
    if (gradient != nullptr) *gradient = GradientOf(loss);
    return bytes;
  };
  Gradient expected, got;
  const std::int64_t all = count(0, &expected), two = count(2, nullptr), none = count(4, &got);
  EXPECT_TRUE(SameBits(got, expected));
  const std::int64_t one = x_.numel() * 8;
  EXPECT_EQ(none, 5 * one);  // the inputs of the layers and of pow
  EXPECT_LT(none, two);
  EXPECT_LT(two, all);
}

}  // namespace
}  // namespace medley
