#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/meter.h>
#include <torch/csrc/autograd/autograd.h>

namespace medley {
namespace {

constexpr std::int64_t kFew = 50, kMany = 1000, kBytes = sizeof(double);

class GradientsAtPeakTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { InstallCpuAllocator(); }
  // Never more than two tensors of `rows` rows in the forward, and three in the backward.
  static at::Tensor Loss(const at::Tensor& parameter, std::int64_t rows) {
    at::Tensor x = parameter * at::ones({rows, 1}, at::kDouble);
    x = at::exp(x);
    x = at::tanh(x);
    return x.sum();
  }
  static at::Tensor Weight(std::int64_t size) {
    return at::zeros({size}, at::kDouble).set_requires_grad(true);
  }

  const at::Tensor a_ = Weight(kFew), b_ = Weight(kMany);
  const std::int64_t a_bytes_ = kFew * kBytes, b_bytes_ = kMany * kBytes;
};

// The engine begins with what was made last.
TEST_F(GradientsAtPeakTest, ThoseThatWereAccumulatedBeforeCountAndNoOthers) {
  for (const bool small_first : {true, false}) {
    GradientsAtPeak gradients({{"a", a_}, {"b", b_}}, at::kCPU);
    for (const bool again : {false, true}) {
      ResetCpuPeak();
      gradients.Begin();
      if (small_first) {
        const at::Tensor large = Loss(b_, 200);
        torch::autograd::backward({large + Loss(a_, 3)});
      } else {
        const at::Tensor small = Loss(a_, 3);
        torch::autograd::backward({small + Loss(b_, 200)});
      }
      const std::int64_t left = a_bytes_ + b_bytes_;
      EXPECT_EQ(gradients.bytes(), again ? left : small_first ? a_bytes_ : 0);
      ResetCpuPeak();
      gradients.Begin();
      EXPECT_EQ(gradients.bytes(), left) << "they were there from the start";
    }
    a_.mutable_grad().reset();
    b_.mutable_grad().reset();
    ResetCpuPeak();
    gradients.Begin();
    EXPECT_EQ(gradients.bytes(), 0);
  }
}

TEST_F(GradientsAtPeakTest, ListensToTheNewestAndGivesBackAndChangesNoGradient) {
  torch::autograd::backward({Loss(a_, 3)});
  const at::Tensor expected = a_.grad().clone();
  a_.mutable_grad().reset();
  GradientsAtPeak outer({{"a", a_}}, at::kCPU);
  {
    GradientsAtPeak inner({{"a", a_}}, at::kCPU);
    ResetCpuPeak();
    inner.Begin();
    torch::autograd::backward({Loss(a_, 3)});
    EXPECT_TRUE(at::equal(a_.grad(), expected));
    at::empty({100 * kMany});
    EXPECT_EQ(inner.bytes(), a_bytes_);
    a_.mutable_grad().reset();
  }
  ResetCpuPeak();
  outer.Begin();
  torch::autograd::backward({Loss(a_, 3)});
  at::empty({100 * kMany});
  EXPECT_EQ(outer.bytes(), a_bytes_);
}

// Of a step those of the stretch with its highest peak.
TEST_F(GradientsAtPeakTest, AStepsMeterTellsThemOfTheWholeStep) {
  for (const std::int64_t between : {0, 1 << 24}) {
    GradientsAtPeak gradients({{"a", a_}, {"b", b_}}, at::kCPU);
    StepMeter meter(
        at::kCPU, [] { return 0; }, &gradients);
    for (int step = 0; step < 2; ++step) {
      meter.BeginStep();
      meter.BeginDraw();
      torch::autograd::backward({Loss(a_, 3)});
      meter.EndDraw("small");
      meter.BeginDraw();
      torch::autograd::backward({Loss(b_, 200)});
      meter.EndDraw("large");
      at::empty({between}, at::kByte);
      a_.mutable_grad().reset();
      b_.mutable_grad().reset();
      EXPECT_EQ(meter.EndStep().gradients, between > 0 ? a_bytes_ + b_bytes_ : a_bytes_);
    }
  }
}

}  // namespace
}  // namespace medley
