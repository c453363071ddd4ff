#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_bytes.h>
#include <medley/model/parameter_set.h>
#include <medley/update/kept_bytes.h>
#include <medley/update/parameter_groups.h>

#include <set>

#include "tests/step/renamed_model.h"
#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

TEST(Optimizer, FollowsTheFormula) {
  FixtureModel model;
  OptimizerConfig config = Plain();
  config.weight_decay = 0.1;
  Optimizer optimizer(model, config);
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
      if (parameter.tensor.dim() > 1) x = x * (1 - kRate * 0.1);
      m[parameter.name] = m[parameter.name] * config.beta1 + g * (1 - config.beta1);
      v[parameter.name] = v[parameter.name] * config.beta2 + g * g * (1 - config.beta2);
      const at::Tensor m_hat = m[parameter.name] / (1 - std::pow(config.beta1, step + 1));
      const at::Tensor v_hat = v[parameter.name] / (1 - std::pow(config.beta2, step + 1));
      x = x - kRate * m_hat / (v_hat.sqrt() + config.epsilon);
    }
    EXPECT_NEAR(optimizer.Step(kRate), std::sqrt(squares), 1e-9);
    for (const Parameter& parameter : model.parameters()) {
      EXPECT_TRUE(at::allclose(parameter.tensor, value[parameter.name], 1e-9, 1e-12)) << parameter.name;
      EXPECT_FALSE(parameter.tensor.grad().defined());
    }
  }
}

// On a GPU one kernel goes over all parameters; here libtorch does it one by one.
TEST(Optimizer, AllParametersTogetherGiveTheSameStep) {
  OptimizerConfig config = Plain();
  config.clip_norm = 0.5;
  FixtureModel one, all;
  Optimizer one_by_one(one, config, {}, {}, Optimizer::Launches::kOneByOne),
      together(all, config, {}, {}, Optimizer::Launches::kTogether);
  for (int step = 0; step < 4; ++step) {
    SetGradients(one, step), SetGradients(all, step);
    if (step == 2) {  // a parameter that the step does not touch
      for (const FixtureModel* model : {&one, &all}) {
        const at::Tensor unused = model->parameters()[3].tensor;
        unused.mutable_grad().reset();
      }
    }
    EXPECT_NEAR(one_by_one.Step(0.01), together.Step(0.01), 1e-12);
  }
  for (std::size_t i = 0; i < one.parameters().size(); ++i)
    EXPECT_TRUE(at::allclose(one.parameters()[i].tensor, all.parameters()[i].tensor, 1e-12, 1e-14));
  EXPECT_EQ(Optimizer::LaunchesFor(one), Optimizer::Launches::kOneByOne);
}

// Who reads other numbers of the device reads them along.
TEST(Optimizer, NormsThatWereReadAlongAreThoseOfTheNextStepAndOfNoOther) {
  FixtureModel alone, along;
  Optimizer asks_itself(alone, Plain(), {}, {}, Optimizer::Launches::kTogether),
      is_told(along, Plain(), {}, {}, Optimizer::Launches::kTogether);
  for (int step = 0; step < 3; ++step) {
    SetGradients(alone, step), SetGradients(along, step);
    if (step < 2) is_told.TakeNorms(is_told.AskNorms().clone());
    if (step == 1) is_told.AskNorms();  // which nobody hands over
    EXPECT_EQ(asks_itself.Step(0.01), is_told.Step(0.01)) << step;
  }
  for (std::size_t i = 0; i < alone.parameters().size(); ++i)
    EXPECT_TRUE(at::equal(alone.parameters()[i].tensor, along.parameters()[i].tensor));
  SetGradients(along, 3);
  is_told.TakeNorms(is_told.AskNorms().fill_(std::nan("")));
  EXPECT_FALSE(is_told.GradientIsFinite());
  EXPECT_THROW(is_told.Step(0.01), Error);
  EXPECT_TRUE(is_told.GradientIsFinite()) << "read anew";
  SetGradients(along, 4), SetGradients(alone, 4);
  EXPECT_EQ(is_told.Step(0.01), asks_itself.Step(0.01)) << "and again";
}

TEST(Optimizer, TogetherTooAGradientThatIsNotFiniteIsNamedAndUpdatesNothing) {
  FixtureModel model;
  Optimizer optimizer(model, Plain(), {}, {}, Optimizer::Launches::kTogether);
  SetGradients(model, 0);
  const at::Tensor before = model.parameters()[0].tensor.detach().clone();
  const at::Tensor bad = model.parameters()[4].tensor;
  bad.mutable_grad().view(-1)[0] = std::nan("");
  const std::string message = MessageOf<Error>([&] { optimizer.Step(0); });
  EXPECT_TRUE(Says(message, {model.parameters()[4].name, "not finite"})) << message;
  EXPECT_FALSE(Says(message, {model.parameters()[5].name})) << message;
  EXPECT_TRUE(at::equal(model.parameters()[0].tensor, before));
}

TEST(Optimizer, AGroupFindsParametersByTheirFormerNamesToo) {
  for (const char* match : {"model.head.*", "head.*"}) {
    RenamedModel model;
    OptimizerConfig config = Plain();
    config.groups = {{.match = match, .frozen = true}};
    const Optimizer optimizer(model, config);
    for (const Parameter& parameter : model.parameters())
      EXPECT_EQ(parameter.tensor.requires_grad(), !parameter.name.starts_with("model.head.")) << match;
  }
}

TEST(Optimizer, AStepAllocatesNoTensor) {
  InstallCpuAllocator();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    FixtureModel model;
    model.To(at::kCPU, dtype);
    OptimizerConfig config = Plain();
    config.clip_norm = 0.01;
    config.groups = {{.match = "head.*", .learning_rate_scale = 0.5}};
    Optimizer optimizer(model, config);
    for (int step = 0; step < 3; ++step) {
      SetGradients(model, step);
      const CpuMemory before = ReadCpuMemory();
      optimizer.Step(kRate);
      EXPECT_EQ(ReadCpuMemory().allocations, before.allocations) << "step " << step;
      EXPECT_LT(ReadCpuMemory().now, before.now);  // the gradients
    }
  }
}

TEST(Optimizer, ClipsTheWholeGradientToTheNorm) {
  // With a tiny epsilon Adam forgets the scale of all gradients; a large one shows it.
  FixtureModel clipped, scaled;
  OptimizerConfig config = Plain();
  config.epsilon = 1;
  Optimizer plain(scaled, config);
  config.clip_norm = 0.5;
  Optimizer clipping(clipped, config);
  SetGradients(clipped, 0);
  const double norm = clipping.Step(kRate);
  EXPECT_GT(norm, 0.5);
  SetGradients(scaled, 0);
  for (const Parameter& parameter : scaled.parameters())
    at::Tensor(parameter.tensor).mutable_grad().mul_(0.5 / norm);
  EXPECT_NEAR(plain.Step(kRate), 0.5, 1e-12);
  for (std::size_t i = 0; i < clipped.parameters().size(); ++i) {
    EXPECT_TRUE(at::allclose(clipped.parameters()[i].tensor, scaled.parameters()[i].tensor, 1e-12, 1e-14));
  }
}

TEST(Optimizer, GroupsAreByTheFirstPatternThatMatches) {
  FixtureModel model, before;
  OptimizerConfig config = Plain();
  config.weight_decay = 0;
  config.groups = {{.match = "encoder.*", .frozen = true},
                   {.match = "*.bias", .learning_rate_scale = 0, .weight_decay = 0},
                   {.match = "head.*", .learning_rate_scale = 0.5}};
  Optimizer optimizer(model, config);
  SetGradients(model, 0);
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.name.starts_with("encoder")) at::Tensor(parameter.tensor).mutable_grad().reset();
  }
  optimizer.Step(kRate);
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

TEST(Optimizer, APatternWithoutAParameterIsAnInputError) {
  FixtureModel model;
  OptimizerConfig config = Plain();
  config.groups = {{.match = "decodr.*", .frozen = true}};
  EXPECT_TRUE(Says(MessageOf<InputError>([&] { Optimizer(model, config); }), {"'decodr.*'"}));
  config.groups = {{.match = "*", .frozen = true}};
  EXPECT_TRUE(Says(MessageOf<InputError>([&] { Optimizer(model, config); }), {"frozen"}));
}

TEST(Optimizer, AParameterWithoutAGradientIsLeftAlone) {
  FixtureModel model, skipping;
  Optimizer all(model, Plain()), some(skipping, Plain());
  const auto head = [](const Model& m) { return m.parameters()[6].tensor; };
  const at::Tensor before = head(skipping).detach().clone();
  for (int step = 0; step < 4; ++step) {
    SetGradients(skipping, step);
    if (step % 2 == 1) head(skipping).mutable_grad().reset();
    some.Step(kRate);
  }
  // Only the updates that it took part in count, also for the bias correction.
  for (const int step : {0, 2}) {
    SetGradients(model, step);
    all.Step(kRate);
  }
  EXPECT_FALSE(at::equal(head(skipping), before));
  EXPECT_TRUE(at::equal(head(skipping), head(model)));
}

TEST(Optimizer, AGradientThatIsNotFiniteChangesNothing) {
  FixtureModel model, before;
  Optimizer optimizer(model, Plain());
  SetGradients(model, 0);
  model.parameters()[4].tensor.grad().view(-1)[2] = std::nan("");
  EXPECT_TRUE(Says(MessageOf([&] { optimizer.Step(kRate); }), {"mid.weight"}));
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(model.parameters()[i].tensor, before.parameters()[i].tensor));
  }
}

// Whose parameters are what its masters are, rounded.
TEST(Optimizer, UpdatesTheMastersOfAHalfModelAsAFloatModel) {
  for (const auto launches : {Optimizer::Launches::kOneByOne, Optimizer::Launches::kTogether}) {
    FixtureModel exact, half;
    exact.To(at::kCPU, at::kFloat);
    half.To(at::kCPU, at::kFloat);
    OptimizerConfig config = Plain();
    config.clip_norm = 0.5;
    config.groups = {{.match = "encoder.*", .frozen = true}};
    const std::vector<Parameter> start = TrainedOf(config, half);
    half.To(at::kCPU, at::kBFloat16);
    Optimizer of_exact(exact, config, {}, {}, launches), of_half(half, config, start, {}, launches);
    for (int step = 0; step < 5; ++step) {
      SetGradients(exact, step), SetGradients(half, step);
      EXPECT_EQ(of_exact.Step(kRate), of_half.Step(kRate));
    }
    for (std::size_t i = 0; i < exact.parameters().size(); ++i) {
      const Parameter &master = of_half.weights().list()[i], &rounded = half.parameters()[i];
      EXPECT_EQ(master.name, rounded.name);
      EXPECT_EQ(rounded.tensor.scalar_type(), at::kBFloat16);
      EXPECT_TRUE(at::equal(rounded.tensor, exact.parameters()[i].tensor.to(at::kBFloat16))) << master.name;
      if (master.name.starts_with("encoder")) continue;
      EXPECT_TRUE(at::equal(master.tensor, exact.parameters()[i].tensor)) << master.name;
    }
  }
}

// An update of a millionth of a weight: bf16 knows it to one part in 256.
TEST(Optimizer, SmallUpdatesOfAHalfModelAddUp) {
  FixtureModel model;
  model.To(at::kCPU, at::kBFloat16);
  OptimizerConfig config = Plain();
  config.weight_decay = 0;
  Optimizer optimizer(model, config);
  const auto weight = [&] { return model.parameters()[4].tensor.detach(); };
  const at::Tensor before = weight().clone();
  at::Tensor without_master = before.clone();
  for (int step = 0; step < 300; ++step) {
    for (const Parameter& parameter : model.parameters()) {
      at::Tensor tensor = parameter.tensor;
      tensor.mutable_grad() = at::ones(tensor.sizes(), at::kFloat);
    }
    optimizer.Step(1e-4);
    without_master.sub_(1e-4);
  }
  const at::Tensor moved = (before.to(at::kFloat) - weight().to(at::kFloat));
  EXPECT_TRUE(at::allclose(moved, at::full_like(moved, 0.03), 0.1)) << moved;
  EXPECT_TRUE(at::equal(without_master.masked_select(before.abs().gt(0.1)),
                        before.masked_select(before.abs().gt(0.1))));
}

TEST(Optimizer, WhatIsFrozenHasNoMasterBesideItsWeight) {
  FixtureModel model;
  model.To(at::kCPU, at::kBFloat16);
  OptimizerConfig config = Plain();
  config.groups = {{.match = "encoder.*", .frozen = true}};
  const Optimizer optimizer(model, config);
  std::int64_t trained = 0;
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const Parameter &parameter = model.parameters()[i], &master = optimizer.weights().list()[i];
    const bool frozen = parameter.name.starts_with("encoder");
    EXPECT_EQ(master.tensor.is_alias_of(parameter.tensor), frozen);
    EXPECT_EQ(master.tensor.scalar_type(), frozen ? at::kBFloat16 : at::kFloat);
    if (!frozen) trained += parameter.tensor.numel();
  }
  EXPECT_EQ(optimizer.weights().bytes(), 4 * trained);
  const KeptBytes needs = KeptBytesOf(config, model);
  EXPECT_EQ(needs.gradients, 4 * trained);
  const auto counts = static_cast<std::int64_t>(model.parameters().size() - 2);
  EXPECT_EQ(needs.state(), 12 * trained + 4 * counts);
  EXPECT_EQ(optimizer.StateBytes(), needs.state());
  EXPECT_EQ(TrainedBytes(model.parameters()), needs.gradients);
}

TEST(Optimizer, TheTableOfGroupsSaysWhatEachKeeps) {
  FixtureModel model;
  model.To(at::kCPU, at::kFloat);
  OptimizerConfig config = Plain();
  const std::string whole = GroupsTable(model, config);
  std::int64_t numbers = 0;
  for (const Parameter& parameter : model.parameters()) numbers += parameter.tensor.numel();
  EXPECT_TRUE(Says(whole, {"group", "gradients", "moments", "\nall ", std::to_string(numbers)})) << whole;
  EXPECT_FALSE(Says(whole, {"masters"})) << whole;

  config.groups = {{.match = "encoder.*", .frozen = true}, {.match = "*.bias", .weight_decay = 0}};
  model.To(at::kCPU, at::kBFloat16);
  const std::string table = GroupsTable(model, config);  // encoder: 12 x 7 and 7 numbers; other biases: 31
  EXPECT_TRUE(Says(table, {"masters", "encoder.* (frozen)", " 91 ", " 182 B ", " 0 B ", "*.bias", " 31 ",
                           " 62 B ", " 124 B ", " 264 B ", "all others"}))
      << table;
}

TEST(Optimizer, OfAFloatModelKeepsNothingTwice) {
  FixtureModel model;
  model.To(at::kCPU, at::kFloat);
  const Optimizer optimizer(model, Plain());
  EXPECT_EQ(optimizer.weights().bytes(), 0);
  for (std::size_t i = 0; i < model.parameters().size(); ++i)
    EXPECT_TRUE(optimizer.weights().list()[i].tensor.is_same(model.parameters()[i].tensor));
}

TEST(Optimizer, ASavedStateGoesOnBitForBit) {
  FixtureModel model, other;
  Optimizer optimizer(model, Plain()), resumed(other, Plain());
  for (int step = 0; step < 3; ++step) {
    SetGradients(model, step);
    optimizer.Step(kRate);
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
    optimizer.Step(kRate);
    resumed.Step(kRate);
  }
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(model.parameters()[i].tensor, other.parameters()[i].tensor));
  }
}

// Whatever groups say.
TEST(Optimizer, WhatTheModelFreezesHasNoGradientAndNoMoments) {
  ParameterSet set(3, at::kCPU, {}, nullptr,
                   {.lora = {.rank = 2, .alpha = 4, .targets = {.names = {"map"}}}});
  set.BeginBase("");
  const Linear map(set, "map", 6, 5, true);
  set.EndBase();
  const ListedModel model(set.list());
  OptimizerConfig config = Plain();
  config.groups = {{.match = "*", .learning_rate_scale = 2}};
  Optimizer optimizer(model, config);
  std::set<std::string> state;
  for (const Parameter& parameter : optimizer.State()) state.insert(parameter.name);
  EXPECT_EQ(state, (std::set<std::string>{"map.lora_A.weight.exp_avg", "map.lora_A.weight.exp_avg_sq",
                                          "map.lora_A.weight.step", "map.lora_B.weight.exp_avg",
                                          "map.lora_B.weight.exp_avg_sq", "map.lora_B.weight.step"}));
  EXPECT_EQ(KeptBytesOf(config, model).gradients, 4 * (2 * 6 + 5 * 2));
  const at::Tensor before = set.list()[0].tensor.detach().clone();
  map(at::ones({3, 6})).sum().backward();
  EXPECT_FALSE(set.list()[0].tensor.grad().defined());
  EXPECT_GT(optimizer.Step(kRate), 0);
  EXPECT_TRUE(at::equal(set.list()[0].tensor, before));
}

}  // namespace
}  // namespace medley
