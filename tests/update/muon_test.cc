#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_bytes.h>
#include <medley/model/parameter_set.h>
#include <medley/update/kept_bytes.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

// The slow obvious version, in double: g [rows, ...].
at::Tensor NearlyOrthogonal(const at::Tensor& g) {
  at::Tensor x = g.flatten(1) / std::max(1e-7, g.norm().item<double>());
  const bool is_tall = x.size(0) > x.size(1);
  if (is_tall) x = x.t();
  for (int step = 0; step < 5; ++step) {
    const at::Tensor gram = x.matmul(x.t());
    x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram.matmul(gram)).matmul(x);
  }
  return (is_tall ? x.t() : x).reshape(g.sizes());
}

struct Reference {
  at::Tensor weights, momentum;

  void Step(const at::Tensor& gradient, double rate, double decay, double keeps) {
    momentum = keeps * momentum + (1 - keeps) * gradient;
    const at::Tensor ahead = (1 - keeps) * gradient + keeps * momentum;
    const double rows = gradient.size(0), columns = gradient.numel() / rows;
    weights = weights * (1 - rate * decay) -
              rate * 0.2 * std::sqrt(std::max(rows, columns)) * NearlyOrthogonal(ahead);
  }
};

TEST(Muon, FollowsTheFormulaAndLeavesAllThatIsNotHiddenToAdamW) {
  OptimizerConfig config = WithMuon();
  config.weight_decay = 0.1;
  config.momentum = 0.9;
  config.groups = {{.match = "tall", .learning_rate_scale = 0.5, .weight_decay = 0.3}};
  const ListedModel model(Matrices()), of_adamw(Matrices());
  Optimizer optimizer(model, config);
  config.name = RuleName::kAdamW;
  Optimizer adamw(of_adamw, config);
  std::map<std::string, Reference> expected;
  for (const Parameter& parameter : model.parameters())
    expected[parameter.name] = {parameter.tensor.detach().clone(), at::zeros_like(parameter.tensor.detach())};
  for (int step = 0; step < 5; ++step) {
    SetGradients(model, step), SetGradients(of_adamw, step);
    if (step == 2) at::Tensor(model.parameters()[1].tensor).mutable_grad().reset();  // "wide" is not touched
    for (const Parameter& parameter : model.parameters()) {
      if (!parameter.hidden || !parameter.tensor.grad().defined()) continue;
      const bool in_group = parameter.name == "tall";
      expected[parameter.name].Step(parameter.tensor.grad(), 0.02 * (in_group ? 0.5 : 1),
                                    in_group ? 0.3 : 0.1, config.momentum);
    }
    optimizer.Step(0.02), adamw.Step(0.02);
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
      const Parameter& parameter = model.parameters()[i];
      const at::Tensor& other = of_adamw.parameters()[i].tensor;
      if (parameter.hidden) {
        EXPECT_TRUE(at::allclose(parameter.tensor, expected[parameter.name].weights, 0, 1e-12))
            << parameter.name << " after step " << step;
        EXPECT_FALSE(at::allclose(parameter.tensor, other, 0, 1e-4)) << parameter.name;
      } else {
        EXPECT_TRUE(at::equal(parameter.tensor, other)) << parameter.name;
      }
    }
  }
}

// Weights cos(0.4 i), gradients sin(0.7 i + 1.3 step) + 0.1 cos(0.05 i^2 + step), three steps of
//   torch.optim.Muon([w], lr=1, weight_decay=0.1, momentum=0.95, nesterov=True,
//   adjust_lr_fn="match_rms_adamw")
// of torch 2.11.0 in Python, which orthogonalises in bf16.
TEST(Muon, IsNearWhatTorchsComesTo) {
  const std::vector<std::pair<std::vector<std::int64_t>, std::vector<double>>> cases = {
      {{3, 5},
       {0.46641, 0.11776, 0.19613, 0.14751, -0.41815, -0.26433, -0.63580, -0.38462, -0.44608, -1.41402,
        -0.90450, -0.45666, 0.37595, 0.94904, 0.76270}},
      {{5, 3},
       {0.17115, 0.67462, 0.20572, 0.24210, -0.23785, 0.32337, -0.04330, -0.36274, -1.09369, -0.90649,
        -0.89789, -0.26414, -0.42529, 0.95701, 0.64718}}};
  for (const auto& [shape, values] : cases) {
    const at::Tensor i = at::arange(15, at::kDouble), start = at::cos(0.4 * i).view(shape).to(at::kFloat);
    const ListedModel model({{.name = "w", .tensor = start.clone().set_requires_grad(true), .hidden = true}});
    OptimizerConfig config = WithMuon();
    config.weight_decay = 0.1;
    Optimizer optimizer(model, config);
    const at::Tensor weights = model.parameters()[0].tensor;
    for (int step = 0; step < 3; ++step) {
      const at::Tensor gradient = at::sin(0.7 * i + 1.3 * step) + 0.1 * at::cos(0.05 * i * i + step);
      at::Tensor(weights).mutable_grad() = gradient.view(shape).to(at::kFloat);
      optimizer.Step(1);
    }
    const at::Tensor torchs = at::tensor(values, at::kFloat).view(shape);
    EXPECT_LT((weights - torchs).abs().mean().item<double>(), 2e-2) << weights;
    EXPECT_GT((start - torchs).abs().mean().item<double>(), 0.3) << "they moved";
  }
}

TEST(Muon, AStepAllocatesNoTensor) {
  InstallCpuAllocator();
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const ListedModel model(Matrices(dtype));
    OptimizerConfig config = WithMuon();
    config.clip_norm = 0.01;
    Optimizer optimizer(model, config);
    for (int step = 0; step < 3; ++step) {
      SetGradients(model, step);
      const CpuMemory before = ReadCpuMemory();
      optimizer.Step(kRate);
      EXPECT_EQ(ReadCpuMemory().allocations, before.allocations) << dtype << ", step " << step;
      EXPECT_LT(ReadCpuMemory().now, before.now);  // the gradients
    }
  }
}

// As AdamW's: the same masters, rounded.
TEST(Muon, UpdatesTheMastersOfAHalfModelAsAFloatModel) {
  const OptimizerConfig config = WithMuon();
  const ListedModel exact(Matrices(at::kFloat)), half(Matrices(at::kBFloat16));
  Optimizer of_exact(exact, config), of_half(half, config, Matrices(at::kFloat));
  for (int step = 0; step < 3; ++step) {
    SetGradients(exact, step), SetGradients(half, step);
    EXPECT_EQ(of_exact.Step(0.01), of_half.Step(0.01));
  }
  for (std::size_t i = 0; i < exact.parameters().size(); ++i) {
    const at::Tensor &master = of_half.weights().list()[i].tensor, &weights = exact.parameters()[i].tensor;
    EXPECT_TRUE(at::equal(master, weights)) << exact.parameters()[i].name;
    EXPECT_TRUE(at::equal(half.parameters()[i].tensor, weights.to(at::kBFloat16)));
  }
}

std::set<std::string> NamesOf(const std::vector<Parameter>& list) {
  std::set<std::string> names;
  for (const Parameter& parameter : list) names.insert(parameter.name);
  return names;
}

TEST(Muon, KeepsOneBufferAndItsScratchAndSaysExactlySo) {
  InstallCpuAllocator();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor wide = at::zeros({64, 300}, dtype), small = at::zeros({40, 50}, dtype),
                     table = at::zeros({500, 10}, dtype);
    const ListedModel model({{.name = "wide", .tensor = wide.set_requires_grad(true), .hidden = true},
                             {.name = "small",
                              .tensor = small.set_requires_grad(true),
                              .former_name = "old.small",
                              .hidden = true},
                             {.name = "table", .tensor = table.set_requires_grad(true)}});
    const std::int64_t before = ReadCpuMemory().now;
    const Optimizer optimizer(model, WithMuon());
    EXPECT_EQ(NamesOf(optimizer.State()),
              (std::set<std::string>{"wide.momentum", "small.momentum", "table.exp_avg", "table.exp_avg_sq",
                                     "table.step"}));
    EXPECT_EQ(optimizer.State()[1].former_name, "old.small.momentum");
    const std::int64_t hidden = 4 * (64 * 300 + 40 * 50), others = 4 * 500 * 10, scratch = 3 * 4 * 64 * 300,
                       masters = dtype == at::kFloat ? 0 : hidden + others;
    const KeptBytes kept = KeptBytesOf(WithMuon(), model);
    EXPECT_EQ(kept.moments, hidden + 2 * others + 4);  // the count of updates of "table"
    EXPECT_EQ(kept.scratch, scratch);
    EXPECT_EQ(kept.state(), hidden + 2 * others + 4 + scratch + masters);
    EXPECT_EQ(optimizer.StateBytes(), kept.state());
    EXPECT_NEAR(ReadCpuMemory().now - before, optimizer.StateBytes(), 1024) << "norms and scalars beside it";
  }
}

TEST(Muon, TheTableOfGroupsSaysWhatHasIt) {
  const ListedModel model(Matrices(at::kFloat));
  OptimizerConfig config = WithMuon();
  config.groups = {{.match = "t*"}, {.match = "kernels", .frozen = true}};
  const std::string table = GroupsTable(model, config);
  EXPECT_TRUE(Says(table, {"\nt* (adamw) ", "\nt* (muon) ", "\nkernels (frozen) ", "\nall others (muon) ",
                           " 220 B ", "scratch ", " 660 B"}))
      << table;
  EXPECT_FALSE(Says(table, {"average"})) << table;
  config.name = RuleName::kAdamW;
  EXPECT_FALSE(Says(GroupsTable(model, config), {"muon"}));
}

TEST(Muon, AGroupHasTheLastWordOfAnyMatrix) {
  const ListedModel model(Matrices());
  OptimizerConfig config = WithMuon();
  config.groups = {{.match = "tall", .rule = RuleName::kAdamW}, {.match = "t*", .rule = RuleName::kMuon}};
  const std::set<std::string> state = NamesOf(Optimizer(model, config).State());
  EXPECT_TRUE(state.count("table.momentum") == 1 && state.count("tall.exp_avg") == 1 &&
              state.count("wide.momentum") == 1);
  config.name = RuleName::kAdamW;
  const std::set<std::string> only = NamesOf(Optimizer(model, config).State());
  EXPECT_TRUE(only.count("table.momentum") == 1 && only.count("wide.exp_avg") == 1);
}

TEST(Muon, OfWhatIsNoMatrixIsAnInputErrorThatNamesIt) {
  const ListedModel model(Matrices());
  OptimizerConfig config = Plain();
  config.groups = {{.match = "?i*", .rule = RuleName::kMuon}};  // "wide" too, which is a matrix
  EXPECT_TRUE(
      Says(MessageOf<InputError>([&] { Optimizer(model, config); }), {"'?i*' matches bias,", "no matrix"}));
  config.groups[0].frozen = true;
  EXPECT_NO_THROW(Optimizer(model, config));
  config.groups = {{.match = "bias", .rule = RuleName::kAdamW}, {.match = "?i*", .rule = RuleName::kMuon}};
  EXPECT_NO_THROW(Optimizer(model, config));
}

TEST(Muon, WithNothingHiddenToTrainIsAnInputErrorThatSaysWhatToDo) {
  const FixtureModel model;
  EXPECT_TRUE(Says(MessageOf<InputError>([&] { Optimizer(model, WithMuon()); }),
                   {"the model fixture names none", "Parameter::hidden", "\"rule\": \"muon\""}));
  OptimizerConfig config = WithMuon();
  config.groups = {{.match = "mid.weight", .rule = RuleName::kMuon}};
  EXPECT_NO_THROW(Optimizer(model, config));
  const ListedModel other(Matrices());
  config.groups = {{.match = "wide", .frozen = true},
                   {.match = "tall", .frozen = true},
                   {.match = "kernels", .rule = RuleName::kAdamW}};
  EXPECT_TRUE(
      Says(MessageOf<InputError>([&] { Optimizer(other, config); }), {"are frozen or have another rule"}));
  config.groups = {{.match = "*", .rule = RuleName::kAdamW}};
  EXPECT_TRUE(
      Says(MessageOf<InputError>([&] { Optimizer(other, config); }), {"are frozen or have another rule"}));
}

TEST(Muon, AGradientThatIsNotFiniteChangesNothing) {
  const ListedModel model(Matrices());
  Optimizer optimizer(model, WithMuon());
  SetGradients(model, 0);
  optimizer.Step(kRate);
  SetGradients(model, 1);
  model.parameters()[4].tensor.grad().view(-1)[2] = std::nan("");
  const auto weights = Copies(model.parameters()), state = Copies(optimizer.State());
  EXPECT_TRUE(Says(MessageOf([&] { optimizer.Step(kRate); }), {"bias"}));
  for (const Parameter& parameter : model.parameters())
    EXPECT_TRUE(at::equal(parameter.tensor, weights.at(parameter.name))) << parameter.name;
  for (const Parameter& parameter : optimizer.State())
    EXPECT_TRUE(at::equal(parameter.tensor, state.at(parameter.name))) << parameter.name;
}

TEST(Muon, ASavedStateGoesOnBitForBitAndAResetBeginsAnew) {
  const ListedModel model(Matrices()), other(Matrices());
  Optimizer optimizer(model, WithMuon());
  for (int step = 0; step < 3; ++step) SetGradients(model, step), optimizer.Step(0.01);
  Optimizer resumed(other, WithMuon());
  const auto state = Copies(optimizer.State()), weights = Copies(model.parameters());
  for (const Parameter& own : resumed.State()) at::Tensor(own.tensor).copy_(state.at(own.name));
  for (const Parameter& own : other.parameters()) own.tensor.detach().copy_(weights.at(own.name));
  SetGradients(model, 3), SetGradients(other, 3);
  optimizer.Step(0.01), resumed.Step(0.01);
  for (std::size_t i = 0; i < model.parameters().size(); ++i)
    EXPECT_TRUE(at::equal(model.parameters()[i].tensor, other.parameters()[i].tensor));
  optimizer.Reset();
  for (const Parameter& own : optimizer.State()) EXPECT_FALSE(own.tensor.any().item<bool>()) << own.name;
}

}  // namespace
}  // namespace medley
