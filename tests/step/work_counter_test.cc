#include <medley/step/work_counter.h>

#include <gtest/gtest.h>
#include <medley/model/blocks/attention.h>
#include <medley/step/passes/pass_forward.h>
#include <medley/step/passes/saved_variables.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <thread>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

std::int64_t WorkOf(const std::function<void()>& run) {
  const WorkCounter counter;
  run();
  return counter.operations();
}

at::Tensor Made(at::IntArrayRef sizes) { return at::rand(sizes); }
at::Tensor Learned(at::IntArrayRef sizes) { return at::rand(sizes).set_requires_grad(true); }

std::int64_t BackwardOf(const std::function<at::Tensor()>& forward) {
  const at::Tensor out = forward();
  return WorkOf([&] { torch::autograd::backward({out.sum()}); });
}

TEST(WorkCounter, ProductsOfMatricesAreCountedByTheirShapes) {
  const at::Tensor a = Made({5, 7}), b = Made({7, 3}), v = Made({7});
  EXPECT_EQ(WorkOf([&] { at::mm(a, b); }), 2 * 5 * 7 * 3);
  EXPECT_EQ(WorkOf([&] { at::addmm(Made({3}), a, b); }), 2 * 5 * 7 * 3);
  EXPECT_EQ(WorkOf([&] { Made({5, 3}).addmm_(a, b); }), 2 * 5 * 7 * 3);
  EXPECT_EQ(WorkOf([&] { at::mv(a, v); }), 2 * 5 * 7);
  EXPECT_EQ(WorkOf([&] { at::dot(v, v); }), 2 * 7);
  EXPECT_EQ(WorkOf([&] { at::bmm(Made({4, 5, 7}), Made({4, 7, 3})); }), 2 * 4 * 5 * 7 * 3);
  EXPECT_EQ(WorkOf([&] {
              at::baddbmm(Made({4, 5, 3}), Made({4, 5, 7}), Made({4, 7, 3}));
            }),
            2 * 4 * 5 * 7 * 3);
}

// Those that only call others are no work of their own.
TEST(WorkCounter, WhatIsMadeOfProductsCountsOnce) {
  const at::Tensor x = Made({2, 5, 7}), weight = Made({3, 7});
  EXPECT_EQ(WorkOf([&] { at::linear(x, weight); }), 2 * 10 * 7 * 3);
  EXPECT_EQ(WorkOf([&] { at::linear(x, weight, Made({3})); }), 2 * 10 * 7 * 3);
  EXPECT_EQ(WorkOf([&] { at::matmul(x, weight.t()); }), 2 * 10 * 7 * 3);
  EXPECT_EQ(WorkOf([&] { at::matmul(x, Made({2, 7, 4})); }), 2 * 2 * 5 * 7 * 4);
  EXPECT_EQ(WorkOf([&] { at::einsum("bij,kj->bik", {x, weight}); }), 2 * 10 * 7 * 3);
}

TEST(WorkCounter, ABackwardMakesAProductForEachGradientThatIsWanted) {
  const std::int64_t forward = 2 * 10 * 7 * 3;
  for (const bool of_input : {false, true}) {
    const at::Tensor x = Made({2, 5, 7}).set_requires_grad(of_input);
    EXPECT_EQ(BackwardOf([&] {
                return at::linear(x, Learned({3, 7}), Learned({3}));
              }),
              (of_input ? 2 : 1) * forward);
  }
  EXPECT_EQ(BackwardOf([&] {
              return at::bmm(Learned({4, 5, 7}), Learned({4, 7, 3}));
            }),
            2 * 2 * 4 * 5 * 7 * 3);
}

TEST(WorkCounter, ConvolutionsAreCountedByOutputsOrTransposedByInputs) {
  // Outputs of 4 by 3 from 7 by 9 with filters of 3 by 5, a stride of 2 and padding of 1 and 0.
  const at::Tensor x = Made({2, 6, 7, 9}), weight = Made({8, 3, 3, 5});
  const std::int64_t once = 2 * (2 * 8 * 4 * 3) * (3 * 3 * 5);
  const auto convolve = [](const at::Tensor& in, const at::Tensor& filters) {
    return at::conv2d(in, filters, /*bias=*/{}, /*stride=*/2, /*padding=*/{1, 0}, /*dilation=*/1,
                      /*groups=*/2);
  };
  ASSERT_EQ(convolve(x, weight).sizes(), (std::vector<std::int64_t>{2, 8, 4, 3}));
  EXPECT_EQ(WorkOf([&] { convolve(x, weight); }), once);
  EXPECT_EQ(BackwardOf([&] { return convolve(x, Learned({8, 3, 3, 5})); }), once);
  EXPECT_EQ(BackwardOf([&] { return convolve(Learned({2, 6, 7, 9}), Learned({8, 3, 3, 5})); }), 2 * once);

  const at::Tensor spread = Made({6, 4, 3});  // of filters of 3
  const auto transpose = [](const at::Tensor& in, const at::Tensor& filters) {
    return at::conv_transpose1d(in, filters, /*bias=*/{}, /*stride=*/2);
  };
  const std::int64_t back = 2 * (2 * 6 * 5) * (4 * 3);
  EXPECT_EQ(WorkOf([&] { transpose(Made({2, 6, 5}), spread); }), back);
  EXPECT_EQ(BackwardOf([&] { return transpose(Learned({2, 6, 5}), Learned({6, 4, 3})); }), 2 * back);
  EXPECT_EQ(WorkOf([&] {
              at::conv3d(Made({1, 2, 4, 4, 4}), Made({5, 2, 2, 2, 2}), /*bias=*/{}, /*stride=*/2);
            }),
            2 * (5 * 2 * 2 * 2) * (2 * 2 * 2 * 2));
}

TEST(WorkCounter, FusedAttentionCountsAsItsProductsAndTheBackwardMakesTheWeightsAgain) {
  const std::vector<std::int64_t> of_queries{2, 4, 10, 16}, of_keys{2, 4, 12, 16};
  const std::int64_t product = 2 * (2 * 4) * 10 * 12 * 16;
  for (const bool masked : {false, true}) {
    const auto mask = masked ? std::optional(at::zeros({2, 1, 10, 12})) : std::nullopt;
    const auto attend = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
      return at::scaled_dot_product_attention(q, k, v, mask);
    };
    EXPECT_EQ(WorkOf([&] { attend(Made(of_queries), Made(of_keys), Made(of_keys)); }), 2 * product);
    EXPECT_EQ(BackwardOf([&] { return attend(Learned(of_queries), Learned(of_keys), Learned(of_keys)); }),
              5 * product);
  }
  // As libtorch falls back to, and as models with dropout do it.
  const auto eager = [](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    return at::matmul(at::softmax(at::matmul(q, k.transpose(2, 3)), -1), v);
  };
  EXPECT_EQ(WorkOf([&] { eager(Made(of_queries), Made(of_keys), Made(of_keys)); }), 2 * product);
  EXPECT_EQ(BackwardOf([&] { return eager(Learned(of_queries), Learned(of_keys), Learned(of_keys)); }),
            4 * product);
}

TEST(WorkCounter, ALayerThatRunsAgainCountsAgain) {
  InstallSavedVariableHooks();
  const at::Tensor weight = Learned({16, 16});
  const auto layer = [&](const at::Tensor& x) { return at::mm(x, weight).relu(); };
  const std::int64_t forward = 2 * 8 * 16 * 16;
  for (const bool again : {false, true}) {
    const at::Tensor x = Learned({8, 16});
    const std::int64_t work = WorkOf(
        [&] { torch::autograd::backward({(again ? RunRecomputed("layer", x, layer) : layer(x)).sum()}); });
    EXPECT_EQ(work, (again ? 4 : 3) * forward);
  }
}

TEST(WorkCounter, OnlyItsOwnThreadsProductsCountAndOnlyWhileItLives) {
  const at::Tensor a = Made({5, 5});
  const std::int64_t work = WorkOf([&] {
    at::mm(a, a);
    std::thread([&] { at::mm(a, a); }).join();
    at::relu(a + a).sum();
  });
  EXPECT_EQ(work, 2 * 5 * 5 * 5);
  at::mm(a, a);
  EXPECT_EQ(WorkOf([&] { at::mm(a, a); }), 2 * 5 * 5 * 5);
}

TEST(WorkCounter, AnOperatorThatThrowsLeavesItCounting) {
  const at::Tensor a = Made({5, 5});
  WorkOf([&] { EXPECT_THROW(at::mm(a, Made({4, 5})), c10::Error); });
  EXPECT_EQ(WorkOf([&] { at::mm(a, a); }), 2 * 5 * 5 * 5);
}

// In every mode a step's work is in proportion to its rows, and each repeated forward counts.
TEST(WorkCounter, AStepsWorkIsInProportionToItsRows) {
  InstallSavedVariableHooks();
  const FixtureModel model;
  StepExecutor executor(model, at::kCPU);
  Fixture task = Qa("qa", 3);
  const auto work = [&](std::int64_t rows, const Execution& execution) {
    const Batch batch = task.task->Sample({.seed = 3, .begin = 0, .count = rows, .longest = true});
    const std::int64_t of_step =
        WorkOf([&] { executor.Run({{.task = task.task.get(), .batch = &batch, .execution = &execution}}); });
    ClearGradients(model);
    return of_step;
  };
  for (const Mode mode : {Mode::kJoint, Mode::kSequential}) {
    Execution plain{.way = {mode, 0}}, again{.way = {mode, 1}}, pieces{.way = {mode, 0}, .micro_rows = 3};
    work(1, plain);  // holds the task against its spec
    const std::int64_t two = work(2, plain);
    EXPECT_GT(two, 0);
    EXPECT_EQ(work(6, plain), 3 * two);
    EXPECT_EQ(work(6, pieces), 3 * two);
    EXPECT_GT(work(6, again), 3 * two);
    EXPECT_EQ(work(6, plain), 3 * two) << "it does not depend on when";
  }
}

}  // namespace
}  // namespace medley
