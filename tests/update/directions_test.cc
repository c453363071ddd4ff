#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_names.h>
#include <medley/update/kept_bytes.h>

#include <stdexcept>

#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr double kDecay = 0.9;

OptimizerConfig Following() {
  OptimizerConfig config = WithMuon();
  config.average = kDecay;
  config.keeps_line = config.keeps_last_step = true;
  return config;
}

at::Tensor Own(const Optimizer& optimizer, const std::string& name) {
  return TensorNamed(optimizer.State(), name).to(at::kDouble);
}

// A model that was trained a few steps, with a snapshot after each of the last five.
struct Trained {
  explicit Trained(at::ScalarType dtype, int steps = 8)
      : model(Matrices(dtype)), optimizer(model, Following()), directions(*optimizer.directions()) {
    for (int step = 0; step < steps; ++step) {
      before = Copies(optimizer.weights().list());
      SetGradients(model, step);
      if (step == steps - 1) at::Tensor(model.parameters()[4].tensor).mutable_grad().reset();
      optimizer.Step(0.02);
      if (step < steps - Directions::kSnapshots) continue;
      directions.Snapshot(step - (steps - Directions::kSnapshots));
      snapshots.push_back(Copies(optimizer.weights().list()));
    }
  }
  at::Tensor Master(const std::string& name) const {
    return TensorNamed(optimizer.weights().list(), name).detach().to(at::kDouble);
  }
  // One time the direction, by its definition.
  at::Tensor Expected(const std::string& name, Direction direction) const {
    if (direction == Direction::kTrend) return Master(name) - Own(optimizer, name + ".average");
    if (direction == Direction::kLastStep) return Master(name) - before.at(name).to(at::kDouble);
    at::Tensor slope = at::zeros_like(Master(name));
    for (int i = 0; i < Directions::kSnapshots; ++i) slope += (i - 2) * snapshots[i].at(name).to(at::kDouble);
    return slope;  // ten times what it moves from one to the next
  }

  ListedModel model;
  Optimizer optimizer;
  Directions& directions;
  std::map<std::string, at::Tensor> before;
  std::vector<std::map<std::string, at::Tensor>> snapshots;
};

constexpr Direction kAll[] = {Direction::kTrend, Direction::kLine, Direction::kLastStep};
constexpr at::ScalarType kTypes[] = {at::kDouble, at::kFloat, at::kBFloat16};

TEST(Directions, AreWhatTheyAreDefinedAsAndGiveTheWeightsBackBitForBit) {
  for (const at::ScalarType dtype : kTypes) {
    Trained trained(dtype);
    const double near = dtype == at::kDouble ? 1e-13 : dtype == at::kFloat ? 2e-6 : 8e-3;
    for (const Direction direction : kAll) {
      const auto weights = Copies(trained.model.parameters()),
                 masters = Copies(trained.optimizer.weights().list()),
                 state = Copies(trained.optimizer.State());
      for (const bool averages : {true, false}) {
        const Displacement way{direction, 0.75};
        std::map<std::string, at::Tensor> expected;
        for (const auto& [name, master] : masters)
          expected[name] = (averages ? Own(trained.optimizer, name + ".average") : master.to(at::kDouble)) +
                           0.75 * trained.Expected(name, direction);
        try {
          const LentWeights moved =
              averages ? trained.directions.MovedAverages(way) : trained.directions.MovedWeights(way);
          for (const Parameter& parameter : trained.model.parameters()) {
            EXPECT_TRUE(at::allclose(parameter.tensor.detach().to(at::kDouble), expected.at(parameter.name),
                                     near, near))
                << parameter.name << " of " << dtype << ", " << EnumName(direction);
            EXPECT_TRUE(parameter.tensor.requires_grad());
          }
          throw std::runtime_error("interrupted");
        } catch (const std::runtime_error&) {
        }
        for (const Parameter& parameter : trained.model.parameters())
          EXPECT_TRUE(at::equal(parameter.tensor, weights.at(parameter.name))) << parameter.name;
        for (const Parameter& master : trained.optimizer.weights().list())
          EXPECT_TRUE(at::equal(master.tensor, masters.at(master.name))) << master.name;
        for (const Parameter& own : trained.optimizer.State())
          EXPECT_TRUE(at::equal(own.tensor, state.at(own.name))) << own.name;
      }
    }
  }
}

TEST(Directions, AMoveTakesWeightsAndAveragesWhereTheModelWas) {
  for (const at::ScalarType dtype : kTypes) {
    for (const Direction direction : kAll) {
      Trained trained(dtype);
      const Displacement way{direction, 1.5};
      std::map<std::string, at::Tensor> weights, averages;
      {
        const LentWeights moved = trained.directions.MovedAverages(way);
        averages = Copies(trained.model.parameters());
      }
      {
        const LentWeights moved = trained.directions.MovedWeights(way);
        weights = Copies(trained.model.parameters());
      }
      InstallCpuAllocator();
      const CpuMemory before = ReadCpuMemory();
      trained.directions.Move(way);
      EXPECT_LE(ReadCpuMemory().now - before.now, 0) << "it keeps nothing";
      for (const Parameter& parameter : trained.model.parameters()) {
        EXPECT_TRUE(at::equal(parameter.tensor, weights.at(parameter.name)))
            << parameter.name << " of " << dtype << ", " << EnumName(direction);
        EXPECT_TRUE(at::equal(TensorNamed(trained.optimizer.State(), parameter.name + ".average").to(dtype),
                              averages.at(parameter.name)))
            << parameter.name;
      }
    }
  }
}

TEST(Directions, TheLastStepIsNothingWhereItTouchedNothing) {
  Trained trained(at::kDouble);
  EXPECT_FALSE(Own(trained.optimizer, "bias.last_step").any().item<bool>());
  EXPECT_TRUE(Own(trained.optimizer, "wide.last_step").any().item<bool>());
  trained.directions.Snapshot(0);
  EXPECT_TRUE(at::allclose(Own(trained.optimizer, "wide.line"), -2 * trained.Master("wide"))) << "a new line";
  trained.optimizer.Reset();
  for (const char* name : {"wide.line", "wide.last_step"})
    EXPECT_FALSE(Own(trained.optimizer, name).any().item<bool>()) << name;
}

TEST(Directions, ValuesOfAnotherShapeAreRefusedAndNothingStays) {
  Trained trained(at::kFloat);
  const auto weights = Copies(trained.model.parameters());
  trained.directions.SetMeddler([](at::Tensor& values) {
    if (values.dim() == 1) values = values.narrow(0, 0, 2);
  });
  EXPECT_THROW(trained.directions.MovedAverages({Direction::kTrend, 1}), Error);
  for (const Parameter& parameter : trained.model.parameters())
    EXPECT_TRUE(at::equal(parameter.tensor, weights.at(parameter.name))) << parameter.name;
}

TEST(Directions, AreCountedAndAnUpdateAllocatesNothing) {
  InstallCpuAllocator();
  for (const at::ScalarType dtype : kTypes) {
    for (const bool last_step : {false, true}) {
      OptimizerConfig config = Following();
      config.keeps_last_step = last_step;
      const ListedModel model(Matrices(dtype));
      const std::int64_t before = ReadCpuMemory().now;
      Optimizer optimizer(model, config);
      const KeptBytes kept = KeptBytesOf(config, model);
      const bool is_half = dtype == at::kBFloat16;
      EXPECT_EQ(kept.directions, (1 + last_step + !is_half) * kept.gradients) << dtype;
      EXPECT_EQ(kept.scratch - KeptBytesOf(WithMuon(), model).scratch, is_half ? 4 * 72 : 0);
      EXPECT_EQ(optimizer.StateBytes(), kept.state());
      EXPECT_NEAR(ReadCpuMemory().now - before, optimizer.StateBytes(), 1024);
      EXPECT_TRUE(Says(GroupsTable(model, config), {"directions"}));
      for (int step = 0; step < 3; ++step) {
        SetGradients(model, step);
        const std::int64_t allocations = ReadCpuMemory().allocations;
        optimizer.Step(1);
        EXPECT_EQ(ReadCpuMemory().allocations, allocations) << dtype << ", step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace medley
