#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/step/optimizer.h>
#include <medley/step/schedule.h>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

OptimizerConfig Plain() {
  OptimizerConfig config;
  config.warmup_steps = 0;
  config.decay_fraction = 0;
  config.clip_norm = 0;
  return config;
}

// Gradients that look random, set on every parameter.
void SetGradients(const Model& model, int step, double scale = 1) {
  for (const Parameter& parameter : model.parameters()) {
    at::Tensor tensor = parameter.tensor;
    tensor.mutable_grad() =
        Numbers(parameter.name + std::to_string(step), tensor.sizes(), scale).to(tensor.scalar_type());
  }
}

TEST(AdamW, FollowsTheFormula) {
  FixtureModel model;
  OptimizerConfig config = Plain();
  config.weight_decay = 0.1;
  AdamW optimizer(model, config, 10);
  std::map<std::string, at::Tensor> value, m, v;
  for (const Parameter& parameter : model.parameters()) {
    value[parameter.name] = parameter.tensor.detach().clone();
    m[parameter.name] = v[parameter.name] = at::zeros_like(value[parameter.name]);
  }
  for (int step = 0; step < 6; ++step) {
    SetGradients(model, step);
    double squares = 0;
    for (const Parameter& parameter : model.parameters()) {
      const at::Tensor g = parameter.tensor.grad().clone();
      squares += g.pow(2).sum().item<double>();
      at::Tensor& x = value[parameter.name];
      if (parameter.tensor.dim() > 1) x = x * (1 - config.learning_rate * 0.1);
      m[parameter.name] = m[parameter.name] * config.beta1 + g * (1 - config.beta1);
      v[parameter.name] = v[parameter.name] * config.beta2 + g * g * (1 - config.beta2);
      const at::Tensor m_hat = m[parameter.name] / (1 - std::pow(config.beta1, step + 1));
      const at::Tensor v_hat = v[parameter.name] / (1 - std::pow(config.beta2, step + 1));
      x = x - config.learning_rate * m_hat / (v_hat.sqrt() + config.epsilon);
    }
    EXPECT_NEAR(optimizer.Step(step), std::sqrt(squares), 1e-9);
    for (const Parameter& parameter : model.parameters()) {
      EXPECT_TRUE(at::allclose(parameter.tensor, value[parameter.name], 1e-9, 1e-12)) << parameter.name;
      EXPECT_FALSE(parameter.tensor.grad().defined());
    }
  }
}

TEST(AdamW, AStepAllocatesNoTensor) {
  InstallCpuAllocator();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    FixtureModel model;
    model.To(at::kCPU, dtype);
    OptimizerConfig config = Plain();
    config.clip_norm = 0.01;
    config.groups = {{.match = "head.*", .learning_rate_scale = 0.5}};
    AdamW optimizer(model, config, 10);
    for (int step = 0; step < 3; ++step) {
      SetGradients(model, step);
      const CpuMemory before = ReadCpuMemory();
      optimizer.Step(step);
      EXPECT_EQ(ReadCpuMemory().allocations, before.allocations) << "step " << step;
      EXPECT_LT(ReadCpuMemory().now, before.now);  // the gradients
    }
  }
}

TEST(AdamW, ClipsTheWholeGradientToTheNorm) {
  // With a tiny epsilon Adam forgets the scale of all gradients; a large one shows it.
  FixtureModel clipped, scaled;
  OptimizerConfig config = Plain();
  config.epsilon = 1;
  AdamW plain(scaled, config, 10);
  config.clip_norm = 0.5;
  AdamW clipping(clipped, config, 10);
  SetGradients(clipped, 0);
  const double norm = clipping.Step(0);
  EXPECT_GT(norm, 0.5);
  SetGradients(scaled, 0);
  for (const Parameter& parameter : scaled.parameters())
    at::Tensor(parameter.tensor).mutable_grad().mul_(0.5 / norm);
  EXPECT_NEAR(plain.Step(0), 0.5, 1e-12);
  for (std::size_t i = 0; i < clipped.parameters().size(); ++i) {
    EXPECT_TRUE(at::allclose(clipped.parameters()[i].tensor, scaled.parameters()[i].tensor, 1e-12, 1e-14));
  }
}

TEST(AdamW, GroupsAreByTheFirstPatternThatMatches) {
  FixtureModel model, before;
  OptimizerConfig config = Plain();
  config.weight_decay = 0;
  config.groups = {{.match = "encoder.*", .frozen = true},
                   {.match = "*.bias", .learning_rate_scale = 0, .weight_decay = 0},
                   {.match = "head.*", .learning_rate_scale = 0.5}};
  AdamW optimizer(model, config, 10);
  SetGradients(model, 0);
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.name.starts_with("encoder")) at::Tensor(parameter.tensor).mutable_grad().reset();
  }
  optimizer.Step(0);
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const std::string& name = model.parameters()[i].name;
    const double change =
        (model.parameters()[i].tensor - before.parameters()[i].tensor).abs().max().item<double>();
    const double expected = name.starts_with("encoder") || name.ends_with("bias") ? 0
                            : name.starts_with("head")                            ? 0.5e-3
                                                                                  : 1e-3;
    EXPECT_NEAR(change, expected, 1e-8) << name;
    EXPECT_EQ(model.parameters()[i].tensor.requires_grad(), !name.starts_with("encoder"));
  }
  for (const Parameter& state : optimizer.State()) EXPECT_FALSE(state.name.starts_with("encoder"));
}

TEST(AdamW, APatternWithoutAParameterIsAnInputError) {
  FixtureModel model;
  OptimizerConfig config = Plain();
  config.groups = {{.match = "decodr.*", .frozen = true}};
  EXPECT_TRUE(Says(MessageOf<InputError>([&] { AdamW(model, config, 10); }), {"'decodr.*'"}));
  config.groups = {{.match = "*", .frozen = true}};
  EXPECT_TRUE(Says(MessageOf<InputError>([&] { AdamW(model, config, 10); }), {"frozen"}));
}

TEST(AdamW, AParameterWithoutAGradientIsLeftAlone) {
  FixtureModel model, skipping;
  AdamW all(model, Plain(), 10), some(skipping, Plain(), 10);
  const auto head = [](const Model& m) { return m.parameters()[6].tensor; };
  const at::Tensor before = head(skipping).detach().clone();
  for (int step = 0; step < 4; ++step) {
    SetGradients(skipping, step);
    if (step % 2 == 1) head(skipping).mutable_grad().reset();
    some.Step(step);
  }
  // Only the updates that it took part in count, also for the bias correction.
  for (const int step : {0, 2}) {
    SetGradients(model, step);
    all.Step(step);
  }
  EXPECT_FALSE(at::equal(head(skipping), before));
  EXPECT_TRUE(at::equal(head(skipping), head(model)));
}

TEST(AdamW, AGradientThatIsNotFiniteChangesNothing) {
  FixtureModel model, before;
  AdamW optimizer(model, Plain(), 10);
  SetGradients(model, 0);
  model.parameters()[4].tensor.grad().view(-1)[2] = std::nan("");
  EXPECT_TRUE(Says(MessageOf([&] { optimizer.Step(0); }), {"mid.weight"}));
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(model.parameters()[i].tensor, before.parameters()[i].tensor));
  }
}

TEST(AdamW, ASavedStateGoesOnBitForBit) {
  FixtureModel model, other;
  AdamW optimizer(model, Plain(), 10), resumed(other, Plain(), 10);
  for (int step = 0; step < 3; ++step) {
    SetGradients(model, step);
    optimizer.Step(step);
  }
  std::map<std::string, at::Tensor> state;
  for (const Parameter& tensor : optimizer.State()) state[tensor.name] = tensor.tensor.clone();
  EXPECT_EQ(state.size(), 3 * model.parameters().size());
  EXPECT_EQ(state.at("mid.weight.step").item<float>(), 3);
  for (const Parameter& own : resumed.State()) at::Tensor(own.tensor).copy_(state.at(own.name));
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    other.parameters()[i].tensor.detach().copy_(model.parameters()[i].tensor.detach());
  }
  for (int step = 3; step < 5; ++step) {
    SetGradients(model, step);
    SetGradients(other, step);
    optimizer.Step(step);
    resumed.Step(step);
  }
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(model.parameters()[i].tensor, other.parameters()[i].tensor));
  }
}

TEST(Schedule, RisesStaysAndFalls) {
  OptimizerConfig config;
  config.warmup_steps = 10;
  config.decay_fraction = 0.3;
  config.final_scale = 0.1;
  EXPECT_DOUBLE_EQ(ScheduleScale(config, 0, 100), 0.1);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, 9, 100), 1.0);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, 50, 100), 1.0);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, 70, 100), 1.0);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, 85, 100), 0.55);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, 99, 100), 1 - 0.9 * 29 / 30);
  EXPECT_DOUBLE_EQ(ScheduleScale(config, 150, 100), 0.1);
}

TEST(Schedule, NeverJumpsNorLeavesItsBounds) {
  for (const int total : {1, 2, 7, 50, 1000}) {
    for (const int warmup : {0, 1, 5, 100}) {
      for (const double fraction : {0.0, 0.3, 1.0}) {
        OptimizerConfig config;
        config.warmup_steps = warmup;
        config.decay_fraction = fraction;
        double before = -1;
        for (int step = 0; step < total; ++step) {
          const double scale = ScheduleScale(config, step, total);
          EXPECT_GT(scale, 0);
          EXPECT_LE(scale, 1);
          if (before >= 0 && warmup != 1 && total >= 50) {
            EXPECT_LE(std::abs(scale - before),
                      1.001 / std::min<double>(warmup > 0 ? warmup : total, std::max(1.0, fraction * total)));
          }
          before = scale;
        }
      }
    }
  }
}

}  // namespace
}  // namespace medley
