// What others do to parameters that a window does not show, so that they are in its graph all the same: each
// moves them. That medley leaves them as they are is tests/idle.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <torch/optim/adamw.h>

#include <functional>
#include <string>
#include <vector>

#include <medley/task/losses.h>

#include "tests/models.h"

namespace medley_volumes {
namespace {

std::vector<at::Tensor> Idle(const Made& made) {
  std::vector<at::Tensor> idle;
  for (const medley::Parameter& parameter : made->parameters()) {
    if (parameter.name.starts_with("patches.series.")) idle.push_back(parameter.tensor);
  }
  return idle;
}

// How far, at most, `steps` steps on rows without series move what belongs to series, where `touch` of it is
// added to the loss.
double MovedBy(const std::function<at::Tensor(const at::Tensor&)>& touch, double decay, int steps = 20) {
  const Made made;
  std::vector<at::Tensor> all, before;
  for (const medley::Parameter& parameter : made->parameters()) all.push_back(parameter.tensor);
  const std::vector<at::Tensor> idle = Idle(made);
  for (const at::Tensor& tensor : idle) before.push_back(tensor.detach().clone());
  torch::optim::AdamW optimizer(all, torch::optim::AdamWOptions(1e-3).weight_decay(decay));
  const medley::Batch batch = made.BatchOf(Rows(3, [](medley::Row& row) {
    return SingleExample(row, {8, 4, 4});
  }));
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const medley::ModelOutputs outputs = Ask(*made, batch);
    at::Tensor loss = medley::SumCrossEntropy(outputs.at("logits"), outputs.at("targets"));
    if (touch) {
      for (const at::Tensor& tensor : idle) loss = loss.add(touch(tensor));
    }
    loss.backward();
    optimizer.step();
  }
  double moved = 0;
  for (std::size_t i = 0; i < idle.size(); ++i)
    moved = std::max(moved, Furthest(idle[i].detach(), before[i]));
  return moved;
}

TEST(Idle, WithoutATrickNothingMoves) { EXPECT_EQ(MovedBy(nullptr, 0.05), 0); }

// Adam divides it by its own size: nearly a whole step, always one way.
TEST(Idle, ATouchOfATenMillionthMovesByWholeSteps) {
  EXPECT_GT(MovedBy([](const at::Tensor& x) { return x.sum().mul(1e-7); }, 0), 20 * 1e-3 * 0.8);
}

TEST(Idle, ATouchOfZeroMovesByDecay) {
  EXPECT_GT(MovedBy([](const at::Tensor& x) { return x.mul(0).sum(); }, 0.05), 1e-5);
  EXPECT_EQ(MovedBy([](const at::Tensor& x) { return x.mul(0).sum(); }, 0), 0);
}

// One number, `steps` times with the same gradient.
void Train(at::Tensor& number, torch::optim::AdamW& optimizer, double gradient, int steps) {
  for (int step = 0; step < steps; ++step) {
    number.mutable_grad() = at::full_like(number, gradient);
    optimizer.step();
  }
}

// The published figure: an initial value of 0.02 is at -0.0255 after 1,000 steps.
TEST(Idle, ATouchOfATenMillionthDestroysAStart) {
  at::Tensor number = at::full({1}, 0.02, at::requires_grad());
  torch::optim::AdamW optimizer({number}, torch::optim::AdamWOptions(5e-5).weight_decay(0));
  Train(number, optimizer, 1e-7, 1000);
  EXPECT_NEAR(number.item<double>(), -0.0255, 2e-4);
}

TEST(Idle, ATouchOfZeroGoesOnWithOldMomentum) {
  at::Tensor number = at::full({1}, 0.02, at::requires_grad());
  torch::optim::AdamW optimizer({number}, torch::optim::AdamWOptions(1e-3).weight_decay(0));
  Train(number, optimizer, 1, 100);
  const double before = number.item<double>();
  Train(number, optimizer, 0, 100);
  EXPECT_NEAR(number.item<double>() - before, -0.0095, 1e-3);
}

}  // namespace
}  // namespace medley_volumes
