#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_names.h>
#include <medley/update/kept_bytes.h>

#include <stdexcept>

#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr double kKept = 0.9;

OptimizerConfig Averaging() {
  OptimizerConfig config = WithMuon();
  config.average = kKept;
  return config;
}

at::Tensor AverageOf(const Optimizer& optimizer, const std::string& name) {
  return TensorNamed(optimizer.State(), name + ".average");
}

TEST(WeightAverage, FollowsTheWeightsThatAStepTouches) {
  const ListedModel model(Matrices());
  Optimizer optimizer(model, Averaging());
  for (const Parameter& parameter : model.parameters())
    parameter.tensor.detach().add_(1);  // as from another run
  optimizer.Begin();
  auto expected = Copies(model.parameters());
  for (int step = 0; step < 5; ++step) {
    SetGradients(model, step);
    if (step % 2 == 1) at::Tensor(model.parameters()[2].tensor).mutable_grad().reset();
    optimizer.Step(0.02);
    for (const Parameter& parameter : model.parameters()) {
      at::Tensor& average = expected[parameter.name];
      if (step % 2 == 0 || parameter.name != "tall")
        average = kKept * average + (1 - kKept) * parameter.tensor.detach();
      EXPECT_TRUE(at::allclose(AverageOf(optimizer, parameter.name), average, 0, 1e-12)) << parameter.name;
    }
  }
  const auto before = Copies(optimizer.State());
  optimizer.Reset();
  EXPECT_TRUE(at::equal(AverageOf(optimizer, "wide"), before.at("wide.average")))
      << "it is of weights, which stay";
}

TEST(WeightAverage, IsWhatTheModelHasWhileItIsReadAndNoBitLonger) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const ListedModel model(Matrices(dtype));
    OptimizerConfig config = Averaging();
    config.groups = {{.match = "bias", .frozen = true}};
    Optimizer optimizer(model, config);
    for (int step = 0; step < 4; ++step) {
      SetGradients(model, step);
      at::Tensor(model.parameters()[4].tensor).mutable_grad().reset();
      optimizer.Step(0.02);
    }
    const auto weights = Copies(model.parameters()), masters = Copies(optimizer.weights().list()),
               state = Copies(optimizer.State());
    const void* const place = model.parameters()[1].tensor.const_data_ptr();
    const auto read = [&] {
      const LentWeights averaged = optimizer.ReadAverages();
      for (const Parameter& parameter : model.parameters()) {
        const bool trained = parameter.name != "bias";
        const at::Tensor expected =
            trained ? state.at(parameter.name + ".average") : weights.at(parameter.name);
        EXPECT_TRUE(at::equal(parameter.tensor, expected.to(dtype))) << parameter.name;
        EXPECT_EQ(at::equal(parameter.tensor, weights.at(parameter.name)), !trained) << parameter.name;
        EXPECT_EQ(parameter.tensor.requires_grad(), trained);
      }
      throw std::runtime_error("interrupted");
    };
    EXPECT_THROW(read(), std::runtime_error);
    for (const Parameter& parameter : model.parameters())
      EXPECT_TRUE(at::equal(parameter.tensor, weights.at(parameter.name))) << parameter.name;
    for (const Parameter& master : optimizer.weights().list())
      EXPECT_TRUE(at::equal(master.tensor, masters.at(master.name))) << master.name;
    for (const Parameter& own : optimizer.State())
      EXPECT_TRUE(at::equal(own.tensor, state.at(own.name))) << own.name;
    EXPECT_EQ(model.parameters()[1].tensor.const_data_ptr(), place);
    SetGradients(model, 9);
    EXPECT_GT(optimizer.Step(0.02), 0) << "it trains on";
    EXPECT_FALSE(at::equal(model.parameters()[1].tensor, weights.at("wide")));
  }
}

TEST(WeightAverage, WhereNoneIsKeptReadingItChangesNothing) {
  const ListedModel model(Matrices());
  Optimizer optimizer(model, WithMuon());
  SetGradients(model, 0);
  optimizer.Step(0.02);
  const auto weights = Copies(model.parameters());
  const LentWeights averaged = optimizer.ReadAverages();
  for (const Parameter& parameter : model.parameters())
    EXPECT_TRUE(at::equal(parameter.tensor, weights.at(parameter.name)));
}

TEST(WeightAverage, ItAndTheTrendAreCountedAndAllocateNothing) {
  InstallCpuAllocator();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const ListedModel model(Matrices(dtype));
    OptimizerConfig config = Averaging();
    config.trend = TrendConfig();
    Optimizer optimizer(model, config);
    const KeptBytes kept = KeptBytesOf(config, model), without = KeptBytesOf(WithMuon(), model);
    EXPECT_EQ(kept.averages, kept.gradients);
    EXPECT_EQ(kept.trends, kept.gradients);
    EXPECT_EQ(kept.state(), without.state() + 2 * kept.gradients);
    EXPECT_EQ(optimizer.StateBytes(), kept.state());
    EXPECT_TRUE(Says(GroupsTable(model, config), {"average", "trend"}));
    for (int step = 0; step < 3; ++step) {
      SetGradients(model, step);
      const CpuMemory before = ReadCpuMemory();
      optimizer.Step(1);
      EXPECT_EQ(ReadCpuMemory().allocations, before.allocations) << dtype << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace medley
