// AdamW whose moments are divided among processes, against one that has them all.
#include <medley/memory/cpu_allocator.h>
#include <medley/update/kept_bytes.h>

#include <ATen/ATen.h>

#include <atomic>
#include <barrier>

#include "tests/cluster/threads_as_ranks.h"
#include "tests/update/optimizer_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;
using test::AsRanks;

constexpr std::int64_t kSmallBucket = 4 * 1000;

// Large ones that are cut, of which one has a part of a block; small ones; one that is used in the first step
// alone; and one whose numbers do not follow one another.
std::vector<Parameter> Various(at::ScalarType type) {
  std::vector<Parameter> list;
  const auto add = [&](const std::string& name, const at::Tensor& values) {
    list.push_back({.name = name, .tensor = values.to(type).set_requires_grad(true)});
  };
  add("table", Numbers("table", {64, 80}, 0.7));
  add("turned", Numbers("turned", {80, 70}, 0.7).t());
  add("bias", Numbers("bias", {7}, 0.7));
  add("idle", Numbers("idle", {50, 100}, 0.7));
  add("map", Numbers("map", {71, 171}, 0.7));
  add("small", Numbers("small", {63, 65}, 0.7));
  add("number", Numbers("number", {}, 0.7));
  return list;
}

// As an exchange leaves them: the same on all.
void Train(const Model& model, Optimizer& optimizer, int steps) {
  for (int step = 0; step < steps; ++step) {
    SetGradients(model, step);
    for (const Parameter& parameter : model.parameters()) {
      if (parameter.name == "idle" && step > 0) at::Tensor(parameter.tensor).mutable_grad().reset();
    }
    optimizer.Step(kRate);
  }
}

OptimizerConfig Dividing(MomentsKind moments) {
  OptimizerConfig config = Plain();
  config.moments = moments;
  config.weight_decay = 0.1;
  config.shard = true;
  return config;
}

std::vector<at::Tensor> Tensors(const Model& model) {
  std::vector<at::Tensor> tensors;
  for (const Parameter& parameter : model.parameters()) tensors.push_back(parameter.tensor);
  return tensors;
}

void ExpectAlike(const std::vector<Parameter>& list, const std::map<std::string, at::Tensor>& expected) {
  for (const Parameter& parameter : list)
    EXPECT_TRUE(at::equal(parameter.tensor.detach(), expected.at(parameter.name))) << parameter.name;
}

// Numbers of divided moments in all processes together.
std::int64_t ExpectTheUpdateOfOne(const OptimizerConfig& config, at::ScalarType type, std::int64_t ranks,
                                  Optimizer::Launches launches) {
  const ListedModel whole(Various(type));
  Optimizer of_whole(whole, config, {}, {}, launches);
  Train(whole, of_whole, 5);
  const auto weights = Copies(whole.parameters()), masters = Copies(of_whole.weights().list()),
             state = Copies(of_whole.State());
  std::atomic<std::int64_t> numbers = 0;
  AsRanks(ranks, [&](ProcessGroup& group) {
    const ListedModel model(Various(type));
    const ShardPlace place{group.rank(), ranks};
    Optimizer optimizer(model, config, {}, place, launches);
    GradientExchange exchange(group, Tensors(model), kSmallBucket);
    optimizer.SpreadBy(exchange);
    EXPECT_TRUE(optimizer.is_divided());
    EXPECT_EQ(optimizer.StateBytes(), KeptBytesOf(config, model, place).state());
    Train(model, optimizer, 5);
    ExpectAlike(model.parameters(), weights);
    ExpectAlike(optimizer.weights().list(), masters);
    ExpectAlike(optimizer.State(), state);
    for (const TensorPart& part : optimizer.Parts()) {
      const at::Tensor& own = part.tensor.tensor;
      const at::Tensor expected = state.at(part.tensor.name).reshape({-1});
      EXPECT_TRUE(at::equal(own, expected.narrow(0, part.begin, own.numel()))) << part.tensor.name;
      if (part.tensor.name.ends_with(".exp_avg")) numbers += own.numel();
    }
  });
  return numbers;
}

TEST(DividedOptimizer, UpdatesBitForBitWhatTheWholeOneUpdates) {
  const std::int64_t all = 64 * 80 + 7 + 50 * 100 + 71 * 171 + 63 * 65 + 1;
  for (const std::int64_t ranks : {2, 3}) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
      for (const MomentsKind moments : {MomentsKind::kFloat, MomentsKind::kBf16, MomentsKind::k8Bit}) {
        for (const double clip : {0.0, 0.5}) {
          OptimizerConfig config = Dividing(moments);
          config.clip_norm = clip;
          EXPECT_EQ(ExpectTheUpdateOfOne(config, type, ranks, Optimizer::Launches::kOneByOne), all)
              << type << " " << clip;
        }
      }
    }
    OptimizerConfig sgd = Dividing(MomentsKind::kFloat);
    sgd.name = RuleName::kSgd;
    ExpectTheUpdateOfOne(sgd, at::kFloat, ranks, Optimizer::Launches::kOneByOne);
    OptimizerConfig follows = Dividing(MomentsKind::kFloat);
    follows.average = 0.9;
    follows.trend = TrendConfig();
    follows.keeps_line = follows.keeps_last_step = true;
    ExpectTheUpdateOfOne(follows, at::kBFloat16, ranks, Optimizer::Launches::kTogether);
  }
}

TEST(DividedOptimizer, LetsWhatNobodyUsedBe) {
  AsRanks(2, [](ProcessGroup& group) {
    const ListedModel model(Various(at::kFloat));
    Optimizer optimizer(model, Dividing(MomentsKind::kFloat), {}, {group.rank(), 2});
    GradientExchange exchange(group, Tensors(model));
    optimizer.SpreadBy(exchange);
    Train(model, optimizer, 1);
    const auto idle = [&] {
      std::map<std::string, at::Tensor> tensors;
      std::vector<Parameter> list = optimizer.State();
      for (const TensorPart& part : optimizer.Parts()) list.push_back(part.tensor);
      list.push_back(model.parameters()[3]);
      for (const auto& [name, values] : Copies(list)) {
        if (name.starts_with("idle")) tensors[name] = values;
      }
      return tensors;
    };
    const auto before = idle();
    Train(model, optimizer, 3);  // its first step uses it again
    EXPECT_FALSE(at::equal(idle().at("idle"), before.at("idle")));
    const auto used = idle();
    for (int step = 1; step < 20; ++step) {
      SetGradients(model, step);
      at::Tensor(model.parameters()[3].tensor).mutable_grad().reset();
      optimizer.Step(kRate);
    }
    for (const auto& [name, values] : idle()) EXPECT_TRUE(at::equal(values, used.at(name))) << name;
  });
}

// So memory that runs out cannot leave one of them half updated.
TEST(DividedOptimizer, AStepAllocatesNoTensor) {
  InstallCpuAllocator();
  std::barrier all(2);
  AsRanks(2, [&](ProcessGroup& group) {
    const ListedModel model(Various(at::kFloat));
    OptimizerConfig config = Dividing(MomentsKind::k8Bit);
    config.clip_norm = 0.5;
    Optimizer optimizer(model, config, {}, {group.rank(), 2});
    GradientExchange exchange(group, Tensors(model), kSmallBucket);
    optimizer.SpreadBy(exchange);
    for (int step = 0; step < 3; ++step) {
      SetGradients(model, step);
      all.arrive_and_wait();
      const std::int64_t before = ReadCpuMemory().allocations;
      all.arrive_and_wait();
      optimizer.Step(kRate);
      all.arrive_and_wait();
      EXPECT_EQ(ReadCpuMemory().allocations, before) << "step " << step;
      all.arrive_and_wait();
    }
  });
}

// Each process's part of what `is` makes of the whole state that `was` kept.
void ExpectItsPart(const OptimizerConfig& was, const OptimizerConfig& is, std::int64_t ranks) {
  const ListedModel whole(Various(at::kFloat)), other(Various(at::kFloat));
  Optimizer saved(whole, was);
  Train(whole, saved, 2);
  const Optimizer converted(other, is);
  auto expected = Copies(saved.State());
  converted.ConvertState(expected);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const ListedModel model(Various(at::kFloat));
    const Optimizer optimizer(model, is, {}, {rank, ranks});
    auto taken = Copies(saved.State());
    optimizer.ConvertState(taken);
    EXPECT_EQ(taken.size(), optimizer.State().size() + optimizer.Parts().size());
    for (const Parameter& own : optimizer.State())
      EXPECT_TRUE(at::equal(taken.at(own.name), expected.at(own.name))) << own.name;
    for (const TensorPart& part : optimizer.Parts()) {
      const at::Tensor& found = taken.at(part.tensor.name);
      EXPECT_EQ(found.sizes(), part.tensor.tensor.sizes());
      EXPECT_TRUE(
          at::equal(found, expected.at(part.tensor.name).reshape({-1}).narrow(0, part.begin, found.numel())))
          << part.tensor.name;
    }
  }
}

// Whatever the processes keep their moments in, and whether they are divided then.
TEST(DividedOptimizer, TakesItsPartOfWholeMoments) {
  for (const MomentsKind was : {MomentsKind::kFloat, MomentsKind::k8Bit}) {
    for (const MomentsKind is : {MomentsKind::kFloat, MomentsKind::kBf16, MomentsKind::k8Bit})
      ExpectItsPart(Dividing(was), Dividing(is), 3);
  }
}

// Of eight some have nothing of most parameters, and count their updates all the same.
TEST(DividedOptimizer, TakesItsPartOfWhatAnotherRuleKept) {
  OptimizerConfig sgd = Dividing(MomentsKind::kFloat);
  sgd.name = RuleName::kSgd;
  for (const MomentsKind moments : {MomentsKind::kFloat, MomentsKind::k8Bit}) {
    ExpectItsPart(Dividing(moments), sgd, 8);
    ExpectItsPart(sgd, Dividing(moments), 8);
  }
}

TEST(DividedOptimizer, KeepsItsPartOfTheBytes) {
  const ListedModel model(Various(at::kFloat));
  const OptimizerConfig config = Dividing(MomentsKind::kFloat);
  const KeptBytes whole = KeptBytesOf(config, model);
  std::int64_t sum = 0, most = 0;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const KeptBytes kept = KeptBytesOf(config, model, {rank, 4});
    EXPECT_EQ(kept.gradients, whole.gradients);
    sum += kept.moments, most = std::max(most, kept.moments);
  }
  const std::int64_t turned = 2 * 4 * 80 * 70;  // on all of them
  const std::int64_t counts = 4 * 7;            // likewise
  EXPECT_EQ(sum, whole.moments + 3 * (turned + counts));
  EXPECT_EQ(MostKeptBytesOf(config, model, 4).moments, most);
  EXPECT_EQ(MostKeptBytesOf(Plain(), model, 4).moments, whole.moments);
  EXPECT_TRUE(Says(ShardWords(model, config, {1, 4}), {"each of 4 processes", "may take longer"}));
  EXPECT_EQ(ShardWords(model, Plain(), {1, 4}), "");
}

TEST(DividedOptimizer, RefusesMuonAndIsWholeAlone) {
  const ListedModel model(Matrices());
  OptimizerConfig config = WithMuon();
  config.shard = true;
  EXPECT_TRUE(Says(MessageOf<InputError>([&] { Optimizer(model, config); }), {"optimizer.shard", "Muon"}));
  const Optimizer alone(model, Dividing(MomentsKind::kFloat));
  EXPECT_FALSE(alone.is_divided());
  EXPECT_TRUE(alone.Parts().empty());
}

}  // namespace
}  // namespace medley
