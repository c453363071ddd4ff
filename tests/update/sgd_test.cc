#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_names.h>
#include <medley/update/kept_bytes.h>

#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

OptimizerConfig By(RuleName name) {
  OptimizerConfig config = Plain();
  config.name = name;
  config.momentum = 0.8;
  return config;
}

void StepThrough(const Model& model, Optimizer& optimizer, int from, int to) {
  for (int step = from; step < to; ++step) {
    SetGradients(model, step);
    optimizer.Step(kRate);
  }
}

// A parameter without a gradient keeps its momentum and does not decay.
TEST(Sgd, FollowsTheFormulaForWhatAStepTouches) {
  const ListedModel model(Matrices());
  OptimizerConfig config = By(RuleName::kSgd);
  config.weight_decay = 0.3;
  Optimizer optimizer(model, config);
  auto weights = Copies(model.parameters());
  std::map<std::string, at::Tensor> buffers;
  for (const auto& [name, weight] : weights) buffers[name] = at::zeros_like(weight);
  for (int step = 0; step < 6; ++step) {
    SetGradients(model, step);
    if (step % 3 == 1) at::Tensor(model.parameters()[1].tensor).mutable_grad().reset();
    for (const Parameter& parameter : model.parameters()) {
      if (!parameter.tensor.grad().defined()) continue;
      at::Tensor &buffer = buffers[parameter.name], &weight = weights[parameter.name];
      buffer = 0.8 * buffer + parameter.tensor.grad();
      weight = weight * (parameter.tensor.dim() > 1 ? 1 - 0.01 * 0.3 : 1) - 0.01 * buffer;
    }
    optimizer.Step(0.01);
    for (const Parameter& parameter : model.parameters())
      EXPECT_TRUE(at::allclose(parameter.tensor, weights[parameter.name], 0, 1e-12))
          << parameter.name << ", step " << step;
  }
}

TEST(Sgd, WithoutMomentumGoesDownTheGradient) {
  const ListedModel model(Matrices());
  OptimizerConfig config = By(RuleName::kSgd);
  config.momentum = 0, config.weight_decay = 0;
  Optimizer optimizer(model, config);
  for (int step = 0; step < 2; ++step) {
    SetGradients(model, step);
    std::vector<at::Tensor> expected;
    for (const Parameter& parameter : model.parameters())
      expected.push_back(parameter.tensor.detach() - 0.01 * parameter.tensor.grad());
    optimizer.Step(0.01);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(at::allclose(model.parameters()[i].tensor, expected[i], 0, 1e-12));
  }
}

TEST(Sgd, TakesOneBufferAndAStepAllocatesNone) {
  InstallCpuAllocator();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const ListedModel model(Matrices(dtype));
    OptimizerConfig config = By(RuleName::kSgd);
    config.clip_norm = 0.01;
    Optimizer optimizer(model, config);
    const KeptBytes kept = KeptBytesOf(config, model);
    EXPECT_EQ(kept.moments, kept.gradients);
    EXPECT_EQ(optimizer.StateBytes(), kept.state());
    config.groups = {{.match = "bias", .frozen = true}};
    EXPECT_TRUE(Says(GroupsTable(model, config), {"bias (frozen)", "all others (sgd)"}));
    config.groups.clear();
    for (int step = 0; step < 3; ++step) {
      SetGradients(model, step);
      const std::int64_t before = ReadCpuMemory().allocations;
      optimizer.Step(kRate);
      EXPECT_EQ(ReadCpuMemory().allocations, before) << dtype << ", step " << step;
    }
  }
}

// Of what a run had after five steps by `from`, as `to` goes on from it.
std::map<std::string, at::Tensor> StateConverted(RuleName from, RuleName to,
                                                 std::vector<std::string>& words) {
  const ListedModel model(Matrices()), next(Matrices());
  Optimizer optimizer(model, By(from));
  const Optimizer converted(next, By(to));
  StepThrough(model, optimizer, 0, 5);
  auto saved = Copies(optimizer.State());
  words = converted.ConvertState(saved);
  for (const Parameter& own : converted.State()) EXPECT_EQ(saved.at(own.name).sizes(), own.tensor.sizes());
  EXPECT_EQ(saved.size(), converted.State().size());
  return saved;
}

// The mean of gradients is what all rules keep, each in its own scale.
TEST(Rules, ARunGoesOnByAnotherRuleFromTheMeanOfItsGradients) {
  std::vector<std::string> words;
  const auto adamw = StateConverted(RuleName::kAdamW, RuleName::kAdamW, words);
  EXPECT_TRUE(words.empty());
  const auto sgd = StateConverted(RuleName::kAdamW, RuleName::kSgd, words);
  ASSERT_EQ(words.size(), 1U);
  EXPECT_TRUE(Says(words[0], {"5 tensors was of adamw", "converted into that of sgd"})) << words[0];
  const auto muon = StateConverted(RuleName::kSgd, RuleName::kMuon, words);
  const auto own = StateConverted(RuleName::kSgd, RuleName::kSgd, words);
  for (const char* name : {"wide", "tall", "kernels"}) {
    const std::string parameter = name;
    EXPECT_TRUE(
        at::allclose(sgd.at(parameter + ".momentum_buffer") * 0.2, adamw.at(parameter + ".exp_avg"), 1e-12));
    EXPECT_TRUE(
        at::allclose(own.at(parameter + ".momentum_buffer") * 0.2, muon.at(parameter + ".momentum"), 1e-12));
  }
}

// The mean of their squares has AdamW alone.
TEST(Rules, WhatAnotherRuleDidNotKeepBeginsAnewAndIsSaid) {
  std::vector<std::string> words;
  const auto state = StateConverted(RuleName::kSgd, RuleName::kAdamW, words);
  ASSERT_EQ(words.size(), 1U);
  EXPECT_TRUE(Says(words[0], {"5 tensors was of sgd", "what adamw needs", "begins anew"})) << words[0];
  for (const auto& [name, tensor] : state) EXPECT_FALSE(tensor.any().item<bool>()) << name;
}

}  // namespace
}  // namespace medley
