#include <medley/step/passes/saved_variables.h>

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/memory/cpu_allocator.h>
#include <torch/csrc/autograd/autograd.h>

#include <thread>
#include <vector>

namespace medley {
namespace {

class SavedVariables : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    InstallCpuAllocator();
    InstallSavedVariableHooks();
  }
  at::Tensor Loss() const { return at::tanh(x_.mm(weight_)).pow(2).sum(); }
  at::Tensor Gradient(const at::Tensor& loss) {
    torch::autograd::backward({loss});
    const at::Tensor gradient = weight_.grad().clone();
    weight_.mutable_grad().reset();
    return gradient;
  }

  at::Tensor x_ = at::arange(12, at::kDouble).view({4, 3}).div_(12);
  at::Tensor weight_ = at::arange(6, at::kDouble).view({3, 2}).div_(6).set_requires_grad(true);
};

TEST_F(SavedVariables, EveryStorageCountsOnce) {
  CountSavedBytes counter;
  const at::Tensor loss = Loss();
  // mm saves x [4, 3]; tanh its output [4, 2]; pow its input, the same. Of weight nothing: x needs no
  // gradient.
  EXPECT_EQ(counter.bytes(), 8 * (12 + 8));
}

TEST_F(SavedVariables, ExcludedStoragesDoNotCount) {
  const at::Tensor x = x_.clone().set_requires_grad(true);
  CountSavedBytes counter({StorageKey(weight_)});
  const at::Tensor y = x.mm(weight_);
  EXPECT_EQ(counter.bytes(), 8 * 12);
  counter.Exclude(x);
  EXPECT_EQ(counter.bytes(), 0);
}

TEST_F(SavedVariables, AViewCountsTheStorageThatItKeepsAlive) {
  const at::Tensor large = at::ones({100, 3}, at::kDouble);
  CountSavedBytes counter;
  const at::Tensor y = large.narrow(0, 0, 4).mm(weight_);
  EXPECT_EQ(counter.bytes(), 8 * 300);
}

TEST_F(SavedVariables, CountingChangesNoGradientAndNoBytes) {
  const at::Tensor expected = Gradient(Loss());
  ResetCpuPeak();
  const std::int64_t floor = ReadCpuMemory().now;
  Gradient(Loss());
  const std::int64_t peak = ReadCpuMemory().peak;
  ResetCpuPeak();
  {
    const CountSavedBytes counter;
    EXPECT_TRUE(at::equal(Gradient(Loss()), expected));
  }
  EXPECT_EQ(ReadCpuMemory().peak, peak);
  EXPECT_EQ(ReadCpuMemory().now, floor);
}

TEST_F(SavedVariables, ScopesNestAndBelongToTheirThread) {
  CountSavedBytes outer;
  const at::Tensor first = Loss();
  constexpr std::int64_t kX = 8 * 12, kMade = 8 * 8;  // both save x, and each what it made
  EXPECT_EQ(outer.bytes(), kX + kMade);
  {
    const CountSavedBytes inner;
    const at::Tensor second = Loss();
    std::thread other([&] { const at::Tensor third = Loss(); });
    other.join();
    EXPECT_EQ(inner.bytes(), kX + kMade);
  }
  EXPECT_EQ(outer.bytes(), kX + 2 * kMade);
}

// Hooks take away autograd's own check.
TEST_F(SavedVariables, WritingToASavedTensorIsStillAnError) {
  at::Tensor loss, y;
  {
    const CountSavedBytes counter;
    y = at::tanh(x_.mm(weight_));
    loss = y.sum();
  }
  const at::NoGradGuard no_graph;
  y.add_(1);
  try {
    torch::autograd::backward({loss});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("[4, 2]"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("in place"), std::string::npos) << error.what();
  }
}

class Doubler final : public SavedTensorKeeper {
 public:
  class Twice final : public KeptTensor {
   public:
    explicit Twice(const at::Tensor& tensor) : half_(tensor.div(2)) {}
    at::Tensor Get() override { return half_.mul(2); }

   private:
    at::Tensor half_;
  };
  std::unique_ptr<KeptTensor> Keep(const at::Tensor& tensor) override {
    ++kept;
    return std::make_unique<Twice>(tensor);
  }
  int kept = 0;
};

TEST_F(SavedVariables, TheInnermostKeeperDecidesAndHidesFromCountersAround) {
  const at::Tensor expected = Gradient(Loss());
  CountSavedBytes outside;
  Doubler keeper;
  const KeepSavedTensors scope(keeper);
  CountSavedBytes inside;
  EXPECT_TRUE(at::equal(Gradient(Loss()), expected));
  EXPECT_EQ(keeper.kept, 3);
  EXPECT_EQ(outside.bytes(), 0);
  EXPECT_EQ(inside.bytes(), 8 * (12 + 8));
  EXPECT_TRUE(at::equal(Gradient(Loss()), expected));
}

TEST_F(SavedVariables, AForwardWithoutABackwardLeavesNothing) {
  const std::int64_t floor = ReadCpuMemory().now;
  for (int i = 0; i < 5; ++i) {
    const CountSavedBytes counter;
    const at::Tensor loss = Loss();
  }
  EXPECT_EQ(ReadCpuMemory().now, floor);
}

}  // namespace
}  // namespace medley
