#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/update/compact_operators.h>
#include <medley/update/kept_bytes.h>

#include <algorithm>
#include <set>

#include "tests/update/compact_start.h"
#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kLeastCompact = 4096;
constexpr MomentsKind kCompact[] = {MomentsKind::kBf16, MomentsKind::k8Bit};

at::Tensor Normal(const std::string& seed, at::IntArrayRef shape, double scale) {
  return scale * at::randn(shape, at::detail::createCPUGenerator(HashName(seed)), at::kFloat);
}

void SetNormalGradients(const Model& model, int step) {
  for (const Parameter& parameter : model.parameters())
    at::Tensor(parameter.tensor).mutable_grad() =
        Normal(parameter.name + std::to_string(step), parameter.tensor.sizes(), 1);
}

// Two that are large enough for fewer bits, one of them with a part of a block; and two small ones.
std::vector<Parameter> Large(at::ScalarType type = at::kFloat) {
  std::vector<Parameter> list;
  const auto add = [&](const std::string& name, at::IntArrayRef shape) {
    const at::Tensor values = Normal(name, shape, 0.3).to(type).set_requires_grad(true);
    list.push_back({.name = name, .tensor = values});
  };
  add("table", {64, 80}), add("map", {71, 70}), add("small", {63, 65}), add("bias", {7});
  return list;
}

OptimizerConfig With(MomentsKind kind) {
  OptimizerConfig config = Plain();
  config.moments = kind;
  config.clip_norm = 0.5;
  return config;
}

void Train(const Model& model, Optimizer& optimizer, int from, int to) {
  for (int step = from; step < to; ++step) {
    SetNormalGradients(model, step);
    optimizer.Step(kRate);
  }
}

double MeanSquare(const at::Tensor& difference) { return difference.pow(2).mean().item<double>(); }

// In units of the learning rate, over the tensors that have fewer bits; what is small is float's, bit for
// bit.
TEST(CompactMoments, TrainNearlyAsFloat) {
  for (const MomentsKind kind : kCompact) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const ListedModel exact(Large(type)), other(Large(type));
      Optimizer of_exact(exact, With(MomentsKind::kFloat)), of_other(other, With(kind));
      Train(exact, of_exact, 0, 20), Train(other, of_other, 0, 20);
      for (std::size_t i = 0; i < exact.parameters().size(); ++i) {
        const at::Tensor &expected = of_exact.weights().list()[i].tensor,
                         &found = of_other.weights().list()[i].tensor;
        const double error = std::sqrt(MeanSquare(found.detach() - expected.detach())) / kRate;
        const double most = expected.numel() < kLeastCompact ? 0 : kind == MomentsKind::kBf16 ? 0.05 : 0.2;
        EXPECT_LE(error, most) << exact.parameters()[i].name;
        EXPECT_EQ(error > 0, most > 0);
        EXPECT_TRUE(at::equal(other.parameters()[i].tensor, found.to(type))) << "of half a type: rounded";
      }
    }
  }
}

TEST(CompactMoments, TakeTheBytesThatAreCounted) {
  InstallCpuAllocator();
  for (const MomentsKind kind : kCompact) {
    const ListedModel model(Large());
    const std::int64_t before = ReadCpuMemory().now;
    const Optimizer optimizer(model, With(kind));
    const KeptBytes kept = KeptBytesOf(With(kind), model);
    EXPECT_EQ(optimizer.StateBytes(), kept.state());
    EXPECT_NEAR(ReadCpuMemory().now - before, optimizer.StateBytes(), 2048) << "norms and scalars beside it";
    for (const Parameter& parameter : model.parameters()) {
      const auto bytes = static_cast<double>(KeptBytesOf(With(kind), parameter).moments);
      const double of_float = 8.0 * static_cast<double>(parameter.tensor.numel()), count = 4;
      if (parameter.tensor.numel() < kLeastCompact) {
        EXPECT_EQ(bytes, of_float + count);
      } else {
        EXPECT_LE(bytes, (kind == MomentsKind::k8Bit ? 0.26 : 0.5) * of_float + count) << parameter.name;
      }
    }
  }
  const ListedModel exact(Large(at::kDouble));
  EXPECT_EQ(KeptBytesOf(With(MomentsKind::k8Bit), exact).moments,
            KeptBytesOf(With(MomentsKind::kFloat), exact).moments)
      << "of double";
}

TEST(CompactMoments, AStepAllocatesNoTensor) {
  InstallCpuAllocator();
  for (const MomentsKind kind : kCompact) {
    const ListedModel model(Large(at::kBFloat16));
    Optimizer optimizer(model, With(kind));
    for (int step = 0; step < 3; ++step) {
      SetNormalGradients(model, step);
      const CpuMemory before = ReadCpuMemory();
      optimizer.Step(kRate);
      EXPECT_EQ(ReadCpuMemory().allocations, before.allocations) << "step " << step;
    }
  }
}

TEST(CompactMoments, TheNumberOfThreadsChangesNothing) {
  const int threads = at::get_num_threads();
  for (const MomentsKind kind : kCompact) {
    std::vector<std::map<std::string, at::Tensor>> ends;
    for (const int count : {1, 2, 3}) {
      at::set_num_threads(count);
      const ListedModel model(
          {{.name = "large", .tensor = Normal("large", {300, 333}, 0.3).set_requires_grad(true)},
           {.name = "other", .tensor = Normal("other", {90, 99}, 0.3).set_requires_grad(true)}});
      Optimizer optimizer(model, With(kind));
      Train(model, optimizer, 0, 4);
      ends.push_back(Copies(optimizer.State()));
      ends.back().merge(Copies(model.parameters()));
    }
    for (const auto& [name, tensor] : ends[0]) {
      EXPECT_TRUE(at::equal(tensor, ends[1].at(name)) && at::equal(tensor, ends[2].at(name))) << name;
    }
  }
  at::set_num_threads(threads);
}

// A saved state goes on bit for bit; after a reset the moments are those of the first step.
TEST(CompactMoments, ASavedStateGoesOnBitForBit) {
  for (const MomentsKind kind : kCompact) {
    const ListedModel model(Large()), resumed(Large()), other(Large());
    Optimizer optimizer(model, With(kind)), of_resumed(resumed, With(kind)), of_other(other, With(kind));
    Train(model, optimizer, 0, 3);
    const auto state = Copies(optimizer.State()), weights = Copies(model.parameters());
    for (const Parameter& own : of_resumed.State()) at::Tensor(own.tensor).copy_(state.at(own.name));
    for (const ListedModel* to : {&resumed, &other}) {
      for (const Parameter& own : to->parameters()) own.tensor.detach().copy_(weights.at(own.name));
    }
    Train(model, optimizer, 3, 5), Train(resumed, of_resumed, 3, 5), Train(other, of_other, 3, 5);
    EXPECT_TRUE(at::equal(model.parameters()[1].tensor, resumed.parameters()[1].tensor));
    EXPECT_FALSE(at::equal(model.parameters()[1].tensor, other.parameters()[1].tensor)) << "it was forgotten";
    of_resumed.Reset();
    for (const Parameter& own : resumed.parameters()) own.tensor.detach().copy_(weights.at(own.name));
    Train(resumed, of_resumed, 3, 5);
    EXPECT_TRUE(at::equal(other.parameters()[1].tensor, resumed.parameters()[1].tensor)) << "reset";
  }
}

TEST(CompactMoments, AGradientInAnotherOrderIsTheSame) {
  for (const MomentsKind kind : kCompact) {
    const ListedModel model(Large()), turned(Large());
    Optimizer optimizer(model, With(kind)), of_turned(turned, With(kind));
    SetNormalGradients(model, 0), SetNormalGradients(turned, 0);
    at::Tensor table = turned.parameters()[0].tensor;
    table.mutable_grad() = table.grad().t().contiguous().t();
    EXPECT_NEAR(optimizer.Step(kRate), of_turned.Step(kRate), 1e-5);
    EXPECT_TRUE(at::allclose(model.parameters()[0].tensor, turned.parameters()[0].tensor, 1e-6, 1e-7));
  }
}

// What a GPU without a kernel does, here on the CPU: a code differs where a value lies between two.
TEST(CompactMoments, OperatorsGiveTheSameUpdates) {
  for (const MomentsKind kind : kCompact) {
    const at::Tensor start = Normal("start", {71, 170}, 0.3);
    CompactUpdate update = test::StartOf(kind, start.clone()),
                  of_operators = test::StartOf(kind, start.clone());
    CompactOperators operators(kind, at::kCPU);
    for (int step = 1; step <= 4; ++step) {
      at::Tensor gradients = Normal("gradient" + std::to_string(step), start.sizes(), 0.1);
      gradients.view(-1).narrow(0, 256, 512).zero_();  // two blocks without any
      update.gradients = gradients, of_operators.gradients = gradients.clone();
      update.rates = of_operators.rates =
          CompactRates({}, kRate, /*weight_decay=*/0.1, /*clip_scale=*/0.5, step, HashName("name"));
      UpdateOnCpu({update});
      operators.Update(of_operators);
      EXPECT_LT(std::sqrt(MeanSquare(update.weights - of_operators.weights)) / kRate, 0.01) << step;
      const auto same = [](const at::Tensor& a, const at::Tensor& b) {
        return a.eq(b).to(at::kDouble).mean().item<double>();
      };
      EXPECT_GT(same(update.means, of_operators.means), 0.995) << step;
      EXPECT_GT(same(update.squares, of_operators.squares), 0.995) << step;
    }
  }
  EXPECT_FALSE(CompactOperators::IsFor(at::kCPU));
  EXPECT_TRUE(CompactOperators::IsFor(at::kCUDA));
}

// Where a tensor is cut between blocks, each part comes out as in the whole, whoever updates it.
TEST(CompactMoments, OfPartsAreThoseOfTheWholeBitForBit) {
  constexpr std::int64_t kCut = 2560;
  for (const MomentsKind kind : kCompact) {
    for (const bool by_operators : {false, true}) {
      CompactOperators operators(kind, at::kCPU);
      const auto update = [&](const CompactUpdate& one) {
        by_operators ? operators.Update(one) : UpdateOnCpu({one});
      };
      CompactUpdate whole = test::StartOf(kind, Normal("start", {71 * 170}, 0.3));
      const at::Tensor cut = whole.weights.clone();
      const std::int64_t rest = cut.numel() - kCut;
      CompactUpdate first = test::StartOf(kind, cut.narrow(0, 0, kCut)),
                    second = test::StartOf(kind, cut.narrow(0, kCut, rest));
      second.place = kCut;
      for (int step = 1; step <= 3; ++step) {
        whole.gradients = Normal("gradient" + std::to_string(step), cut.sizes(), 0.1);
        first.gradients = whole.gradients.narrow(0, 0, kCut);
        second.gradients = whole.gradients.narrow(0, kCut, rest);
        for (CompactUpdate* one : {&whole, &first, &second}) {
          one->rates =
              CompactRates({}, kRate, /*weight_decay=*/0.1, /*clip_scale=*/1, step, HashName("name"));
          update(*one);
        }
      }
      EXPECT_TRUE(at::equal(whole.weights, cut)) << by_operators;
      EXPECT_TRUE(at::equal(whole.means, at::cat({first.means, second.means})));
      EXPECT_TRUE(at::equal(whole.squares, at::cat({first.squares, second.squares})));
    }
  }
}

void Take(const std::vector<Parameter>& into, const std::map<std::string, at::Tensor>& values) {
  for (const Parameter& own : into) own.tensor.detach().copy_(values.at(own.name));
}

// Where a run would be after three steps with one kind and one with another.
at::Tensor AfterASwitch(MomentsKind from, MomentsKind to, std::size_t lines) {
  const ListedModel model(Large()), next(Large());
  Optimizer optimizer(model, With(from)), of_next(next, With(to));
  Train(model, optimizer, 0, 3);
  auto saved = Copies(optimizer.State());
  const std::vector<std::string> words = of_next.ConvertState(saved);
  EXPECT_EQ(words.size(), lines);
  for (const std::string& line : words)
    EXPECT_TRUE(Says(line, {"the state of 2 tensors", "converted"})) << line;
  EXPECT_EQ(saved.size(), of_next.State().size());
  Take(of_next.State(), saved), Take(next.parameters(), Copies(model.parameters()));
  Train(next, of_next, 3, 4);
  return next.parameters()[0].tensor.detach();
}

// Each into each other kind.
TEST(CompactMoments, AStateOfOneKindGoesOnAsAnother) {
  constexpr MomentsKind kKinds[] = {MomentsKind::kFloat, MomentsKind::kBf16, MomentsKind::k8Bit};
  for (const MomentsKind from : kKinds) {
    const at::Tensor stayed = AfterASwitch(from, from, 0);
    for (const MomentsKind to : kKinds) {
      if (from == to) continue;
      const double error = std::sqrt(MeanSquare(AfterASwitch(from, to, 1) - stayed)) / kRate;
      EXPECT_TRUE(error > 0 && error < 0.1) << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

TEST(CompactMoments, ScalesThatDoNotBelongToTheCodesAreNamed) {
  const ListedModel model(Large()), next(Large());
  const Optimizer optimizer(model, With(MomentsKind::k8Bit)), exact(next, With(MomentsKind::kFloat));
  const auto message = [&](auto damage) {
    auto saved = Copies(optimizer.State());
    damage(saved);
    return MessageOf<InputError>([&] { exact.ConvertState(saved); });
  };
  const std::string wrong = message([](auto& saved) { saved["map.exp_avg_scale"] = at::zeros({19}); });
  EXPECT_TRUE(Says(wrong, {"map.exp_avg_scale is Float [19]", "4970 codes of map.exp_avg", "[20]"})) << wrong;
  const std::string none = message([](auto& saved) { saved.erase("table.exp_avg_sq_scale"); });
  EXPECT_TRUE(Says(none, {"table.exp_avg_sq is in eight bits", "no table.exp_avg_sq_scale"})) << none;
}

}  // namespace
}  // namespace medley
