#include <gtest/gtest.h>
#include <medley/model/parameter_names.h>
#include <medley/update/follower.h>

#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

OptimizerConfig Drifting(double beta, double gamma) {
  OptimizerConfig config = WithMuon();
  config.learning_rate = 0.02;
  config.trend = {.beta = beta, .gamma = gamma};
  return config;
}

at::Tensor TrendOf(const Optimizer& optimizer, const std::string& name) {
  return TensorNamed(optimizer.State(), name + ".trend");
}

// Beside it an optimizer without a trend makes the updates: its weights and moments are put where the trend's
// are before every step.
TEST(WeightTrend, FollowsTheFormulaForWhatAStepTouchesWhileTheRateIsAtItsTop) {
  const OptimizerConfig config = Drifting(0.6, 0.8);
  OptimizerConfig plain = config;
  plain.trend.reset();
  const ListedModel model(Matrices()), other(Matrices());
  Optimizer optimizer(model, config), updates(other, plain);
  std::map<std::string, at::Tensor> trend;
  for (const Parameter& parameter : model.parameters())
    trend[parameter.name] = at::zeros_like(parameter.tensor.detach());
  for (int step = 0; step < 8; ++step) {
    const bool shifts = step >= 2 && step < 6;
    const double beta = shifts ? 0.6 : 0, rate = shifts ? 0.02 : 0.01;
    SetGradients(model, step), SetGradients(other, step);
    if (step % 3 == 1) {
      for (const ListedModel* each : {&model, &other})
        at::Tensor(each->parameters()[0].tensor).mutable_grad().reset();
    }
    const auto start = Copies(model.parameters());
    for (const Parameter& parameter : other.parameters())
      parameter.tensor.detach().copy_(start.at(parameter.name));
    optimizer.Step(rate), updates.Step(rate);
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
      const std::string& name = model.parameters()[i].name;
      const at::Tensor updated = other.parameters()[i].tensor.detach();
      at::Tensor expected = updated;
      if (i != 0 || step % 3 != 1) {
        trend[name] = 0.8 * trend[name] + 0.2 * (updated - start.at(name) + beta * trend[name]);
        expected = updated + beta * trend[name];
      }
      EXPECT_TRUE(at::allclose(TrendOf(optimizer, name), trend[name], 0, 1e-12)) << name << ", step " << step;
      EXPECT_TRUE(at::allclose(model.parameters()[i].tensor, expected, 0, 1e-12))
          << name << ", step " << step;
    }
  }
  optimizer.Reset();
  EXPECT_FALSE(TrendOf(optimizer, "wide").any().item<bool>());
}

// What its document says: twice as fast with beta 0.5. The weights of AdamW move by the rate in each step.
TEST(WeightTrend, ASteadyDriftIsAsFastAsBetaSays) {
  for (const auto& [beta, factor] : {std::pair(0.5, 2.0), std::pair(0.75, 4.0)}) {
    const ListedModel model({{.name = "w", .tensor = at::zeros({2, 3}, at::kFloat).set_requires_grad(true)}});
    OptimizerConfig config = Drifting(beta, 0.9);
    config.name = RuleName::kAdamW;
    config.weight_decay = 0;
    Optimizer optimizer(model, config);
    double before = 0, moved = 0;
    for (int step = 0; step < 400; ++step) {
      at::Tensor(model.parameters()[0].tensor).mutable_grad() = at::ones({2, 3}, at::kFloat);
      optimizer.Step(0.02);
      const double now = model.parameters()[0].tensor[0][0].item<double>();
      moved = before - now;
      before = now;
    }
    EXPECT_NEAR(moved, factor * 0.02, 1e-4) << beta;
  }
}

// In bf16 a shift of the parameters themselves would be lost in them.
TEST(WeightTrend, OfAHalfModelMovesItsMasters) {
  const OptimizerConfig config = Drifting(0.5, 0.9);
  const ListedModel exact(Matrices(at::kFloat)), half(Matrices(at::kBFloat16));
  Optimizer of_exact(exact, config), of_half(half, config, Matrices(at::kFloat));
  for (int step = 0; step < 4; ++step) {
    SetGradients(exact, step), SetGradients(half, step);
    of_exact.Step(0.02), of_half.Step(0.02);
  }
  for (std::size_t i = 0; i < exact.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(of_half.weights().list()[i].tensor, exact.parameters()[i].tensor));
    EXPECT_TRUE(at::equal(half.parameters()[i].tensor, exact.parameters()[i].tensor.to(at::kBFloat16)));
  }
}

}  // namespace
}  // namespace medley
