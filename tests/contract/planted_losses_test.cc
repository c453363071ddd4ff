// Losses that break what micro-batches, ranks and draws rely on, planted in four kinds of tasks: the check of
// a first draw finds each of them with every seed, or, where unlike rows are needed, the author's kit does.
#include <gtest/gtest.h>
#include <medley/contract/contract_losses.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/contract/planted_tasks.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace planted;

// All 20 in tools/test --all.
std::vector<std::int64_t> PlantSeeds(const std::string& sweep) {
  return test::SliceOfSteps(sweep, 0, 20, /*of=*/10);
}

std::string Found(Kind kind, const Plant& plant, std::uint64_t seed, bool has_rates = false) {
  const Net model(seed, has_rates);
  const Fixture fixture = TaskOf(kind, plant);
  ContractCheck check(model, at::kCPU);
  return testing_fixture::MessageOf([&] {
    check.Check(*fixture.task, {.seed = 100 + seed, .begin = 1, .count = 1},
                /*thorough=*/plant.needs_unlike_rows);
  });
}

at::Tensor Normalised(const at::Tensor& y) {
  return (y - y.mean(0)) / (y.var(0, /*unbiased=*/false) + 1e-2).sqrt();
}

// Each a mistake of its own, that somebody makes.
const std::vector<Plant>& Plants() {
  static const std::vector<Plant> plants = {
      {.name = "all pairs of rows by broadcasting, summed",
       .loss = [](const Parts& p) { return (p.Losses() * p.Weights().unsqueeze(1)).sum(); }},
      {.name = "all pairs of rows by broadcasting, as a mean times the rows",
       .loss = [](const Parts& p) { return (p.Losses() * p.Weights().unsqueeze(1)).mean() * p.rows(); }},
      {.name = "values against a column of targets",
       .kinds = {Kind::kRegression},
       .loss =
           [](const Parts& p) {
             return (p.output.select(1, 0) - p.Target().narrow(1, 0, 1)).square().mean() * p.rows();
           }},
      {.name = "squeeze, which collapses at one row",
       .kinds = {Kind::kRegression},
       .loss =
           [](const Parts& p) {
             return (p.output.narrow(1, 0, 1).squeeze() - p.Target().narrow(1, 0, 1)).square().sum();
           }},
      {.name = "a mean over the rows", .loss = [](const Parts& p) { return p.Losses().mean(); }},
      {.name = "a mean over the rows instead of what a row has",
       .kinds = {Kind::kRegression, Kind::kPicture},
       .loss = [](const Parts& p) { return (p.output - p.Target()).square().mean(0).sum(); }},
      {.name = "a sum that grows with the batch",
       .loss = [](const Parts& p) { return p.Losses().sum() * p.rows(); }},
      {.name = "weights normalised over the batch",
       .loss =
           [](const Parts& p) { return (p.Losses() * p.Weights() / p.Weights().sum()).sum() * p.rows(); }},
      {.name = "weights that are a softmax over the rows",
       .loss =
           [](const Parts& p) {
             return (p.Losses() * at::softmax(p.Losses().detach(), 0)).sum() * p.rows();
           }},
      {.name = "outputs normalised over the batch",
       .loss = [](const Parts& p) { return p.Losses(Normalised(p.output), p.Target()).sum(); }},
      {.name = "inputs normalised over the batch", .handed = Normalised},
      {.name = "the batch's maximum taken off",
       .loss = [](const Parts& p) { return p.Losses(p.output - p.output.amax(0), p.Target()).sum(); }},
      {.name = "a softmax over the rows",
       .loss = [](const Parts& p) { return p.Losses(at::softmax(p.output, 0) * 3, p.Target()).sum(); }},
      {.name = "targets of the row before",
       .loss = [](const Parts& p) { return p.Losses(p.output, p.Target().roll(1, 0)).sum(); },
       .needs_unlike_rows = true},
      {.name = "the first row for all", .loss = [](const Parts& p) { return p.Losses()[0] * p.rows(); }},
      {.name = "the hardest half of the batch",
       .loss =
           [](const Parts& p) {
             return std::get<0>(p.Losses().topk(std::max<std::int64_t>(1, p.rows() / 2))).sum();
           }},
      {.name = "a weight by the place in the batch",
       .loss = [](const Parts& p) { return (p.Losses() * (1 + at::arange(p.rows()))).sum(); }},
      {.name = "a mean up to the batch's longest row",
       .kinds = {Kind::kText},
       .loss =
           [](const Parts& p) {
             const at::Tensor all = (Parts::Nll(p.output, p.Target()) * p.Mask()).sum();
             return all / p.Lengths().max() * p.rows();
           }},
      {.name = "half of the loss detached",
       .loss = [](const Parts& p) { return (p.Losses() * 0.5 + p.Losses().detach() * 0.5).sum(); }},
      {.name = "a factor without a gradient",
       .loss =
           [](const Parts& p) {
             return (p.Losses() * (1 + p.output.detach().flatten(1).square().mean(1))).sum();
           }},
      {.name = "a value read out and put back",
       .loss =
           [](const Parts& p) { return p.Losses().sum() + p.output.square().sum().item<double>() * 0.1; }},
      {.name = "gradient scaled by the rows, the value is not",
       .loss =
           [](const Parts& p) {
             const at::Tensor all = p.Losses().sum();
             return all * p.rows() - (all * (p.rows() - 1)).detach();
           }},
      {.name = "a carry that is copied",
       .kinds = {Kind::kPicture},
       .carried = [](const at::Tensor& made) { return made.detach().clone(); }},
      {.name = "a carry that is copied in part",
       .kinds = {Kind::kPicture},
       .carried = [](const at::Tensor& made) { return made * 0.5 + made.detach() * 0.5; }},
      {.name = "a carry normalised over the batch",
       .kinds = {Kind::kPicture},
       .carried = [](const at::Tensor& made) { return made / made.amax({0}, true).clamp_min(0.1) * 0.9; }},
      {.name = "items counted over positions, rows learned",
       .kinds = {Kind::kRegression, Kind::kText},
       .loss =
           [](const Parts& p) {
             const at::Tensor losses = p.Losses();
             return (p.kind == Kind::kText ? losses / p.Lengths() : losses).sum();
           },
       .count = [](Batch& batch) { batch.SetItems("loss", batch.Column("lengths").clone()); },
       .needs_unlike_rows = true},
      {.name = "items counted over rows, positions learned",
       .kinds = {Kind::kText},
       .count = [](Batch& batch) { batch.CountEach("loss"); }},
      {.name = "numbers up to a row's length added up, rows counted",
       .kinds = {Kind::kRegression},
       .loss =
           [](const Parts& p) {
             const at::Tensor inside =
                 at::arange(kValues).lt(p.Lengths().remainder(kValues).unsqueeze(1) + 1);
             return ((p.output - p.Target()).square() * inside).sum();
           },
       .needs_unlike_rows = true},
      {.name = "a column changed in place",
       .loss =
           [](const Parts& p) {
             const at::Tensor loss = (p.Losses() * p.Weights()).sum();
             at::Tensor(p.context.batch().Column("weight")).div_(p.Weights().sum());
             return loss;
           }},
  };
  return plants;
}

// What a task keeps or draws is a new thing for each check.
std::vector<Plant> PlantsWithState() {
  const auto mean = std::make_shared<double>(0);
  const auto random = std::make_shared<std::mt19937>(5);
  return {{.name = "a running mean",
           .loss =
               [mean](const Parts& p) {
                 const at::Tensor losses = p.Losses();
                 *mean = 0.9 * *mean + 0.1 * losses.mean().item<double>();
                 return ((losses - *mean) * 1.0).square().sum();
               }},
          {.name = "a random number of its own", .loss = [random](const Parts& p) {
             return p.Losses().sum() * (1 + 1e-3 * std::uniform_real_distribution<>(0, 1)(*random));
           }}};
}

TEST(PlantedLosses, RightTasksAreFoundRightWithEverySeed) {
  for (const Kind kind : kKinds) {
    for (const std::uint64_t seed : PlantSeeds("right losses"))
      EXPECT_EQ(Found(kind, Plant{.name = "nothing"}, seed), "nothing was thrown") << NameOf(kind) << seed;
  }
}

TEST(PlantedLosses, EachIsFoundWithEverySeed) {
  std::size_t plants = 0;
  const auto find = [&](const Plant& plant, std::uint64_t seed) {
    for (const Kind kind : plant.kinds) {
      const std::string found = Found(kind, plant, seed);
      EXPECT_NE(found, "nothing was thrown") << NameOf(kind) << ", " << plant.name << ", seed " << seed;
    }
    ++plants;
  };
  const std::vector<std::int64_t> seeds = PlantSeeds("planted losses");
  for (const std::uint64_t seed : seeds) {
    for (const Plant& plant : Plants()) find(plant, seed);
    for (const Plant& plant : PlantsWithState()) find(plant, seed);
  }
  EXPECT_GE(plants / seeds.size(), 30U);
}

// A target that the task makes of what the model gave.
TEST(PlantedLosses, APartThatIsDetachedOnPurposeIsSaidInTheSpec) {
  const Plant plant{.name = "own target", .loss = [](const Parts& p) {
                      return (p.output - p.output.detach() * 0.5).square().sum();
                    }};
  const Net model(1);
  const auto found = [&](bool said) {
    const Fixture fixture = TaskOf(Kind::kRegression, plant);
    fixture.info->variants[0].terms[0].stops_gradient = said;
    ContractCheck check(model, at::kCPU);
    return testing_fixture::MessageOf(
        [&] { check.Check(*fixture.task, {.seed = 1, .begin = 1, .count = 1}); });
  };
  EXPECT_TRUE(
      testing_fixture::Says(found(false), {"term 'loss'", "is not how it changes", ".stops_gradient"}));
  EXPECT_EQ(found(true), "nothing was thrown");
}

// The likelihood of a whole text, counted by the row.
TEST(PlantedLosses, ACountThatIsMeantIsSaidInTheSpec) {
  const Plant plant{.name = "rows", .count = [](Batch& batch) { batch.CountEach("loss"); }};
  const auto found = [&](std::uint64_t seed, bool said) {
    const Net model(seed);
    const Fixture fixture = TaskOf(Kind::kText, plant);
    fixture.info->variants[0].terms[0].counts_otherwise = said;
    ContractCheck check(model, at::kCPU);
    return testing_fixture::MessageOf(
        [&] { check.Check(*fixture.task, {.seed = 100 + seed, .begin = 1, .count = 1}); });
  };
  EXPECT_TRUE(testing_fixture::Says(found(1, false), {"term 'loss'", ".counts_otherwise = true"}));
  for (const std::uint64_t seed : PlantSeeds("counts")) EXPECT_EQ(found(seed, true), "nothing was thrown");
}

// Of outputs that stay above 0 a task may take the logarithm: it is judged as others are.
// What the check of the losses could not look at in a task that is made so.
std::string NotJudged(const std::function<at::Tensor(const Parts&)>& loss) {
  const Net model(1);
  const Fixture fixture = TaskOf(Kind::kRegression, {.name = "not judged", .loss = loss});
  ContractCheck check(model, at::kCPU);
  check.Check(*fixture.task, {.seed = 1, .begin = 1, .count = 1});
  std::string words;
  for (const auto& [task, missed] : check.TakeNotJudged())
    for (const std::string& what : missed) words += what + "\n";
  return words;
}

TEST(PlantedLosses, WhatCannotBeJudgedIsNamed) {
  const auto is_made_up = [](const Parts& p) { return p.output.requires_grad() && !p.output.grad_fn(); };
  EXPECT_EQ(NotJudged([](const Parts& p) { return p.Losses().sum(); }), "");
  EXPECT_EQ(NotJudged([&](const Parts& p) { return p.Losses().sum() * (is_made_up(p) ? NAN : 1); }),
            "the term 'loss' in pass 'main': of outputs that were made up it is not finite\n");
  const std::string in_float = NotJudged([](const Parts& p) {
    if (p.output.scalar_type() == at::kDouble) throw Error("it wants floats");
    return p.Losses().sum();
  });
  EXPECT_TRUE(
      in_float.starts_with("how its terms change against their gradients: in float64 its passes do "
                           "not run ("))
      << in_float;
  EXPECT_TRUE(in_float.find("it wants floats") != std::string::npos) << in_float;
  const std::string nowhere = NotJudged([&](const Parts& p) {
    if (is_made_up(p)) throw Error("it wants a real model");
    return p.Losses().sum();
  });
  EXPECT_TRUE(
      nowhere.starts_with("what it makes of the model's outputs: on outputs that were made up its "
                          "passes do not run ("))
      << nowhere;
}

// [rows, 3] summed, and a row counted as one item: a loss that people use, or a forgotten mean.
TEST(PlantedLosses, ASumOverTheNumbersOfAnItemIsDoubtedAndNotRefused) {
  const auto squared = [](const Parts& p) { return (p.output - p.Target()).square(); };
  EXPECT_TRUE(testing_fixture::Says(
      NotJudged([&](const Parts& p) { return squared(p).sum(); }),
      {"whether the term 'loss' is meant to count one item for 3 numbers of the model's 'values'",
       "the squared error", ".counts_otherwise = true"}));
  EXPECT_TRUE(testing_fixture::Says(
      NotJudged([](const Parts& p) { return (p.output - p.Target()).abs().sum(); }), {"the absolute error"}));
  EXPECT_EQ(NotJudged([&](const Parts& p) { return squared(p).mean(1).sum(); }), "");
  EXPECT_EQ(NotJudged([&](const Parts& p) { return squared(p).select(1, 0).sum(); }), "") << "one number";
  EXPECT_EQ(NotJudged([](const Parts& p) { return at::softplus(p.output).sum(); }), "") << "no such error";
  const Net model(1);
  const Fixture meant =
      TaskOf(Kind::kRegression, {.name = "meant", .loss = [&](const Parts& p) { return squared(p).sum(); }});
  meant.info->variants[0].terms[0].counts_otherwise = true;
  ContractCheck check(model, at::kCPU);
  check.Check(*meant.task, {.seed = 1, .begin = 1, .count = 1});
  EXPECT_TRUE(check.TakeNotJudged().empty());
}

TEST(PlantedLosses, RatesAreJudgedAsRates) {
  const auto losses = [](const Parts& p) {
    return (p.output - (p.Target().abs() + 1) * p.output.log()).sum();
  };
  const Plant wrong{.name = "times the rows", .loss = [&](const Parts& p) { return losses(p) * p.rows(); }};
  for (const std::uint64_t seed : PlantSeeds("rates")) {
    EXPECT_EQ(Found(Kind::kRegression, {.name = "right", .loss = losses}, seed, /*has_rates=*/true),
              "nothing was thrown");
    EXPECT_NE(Found(Kind::kRegression, wrong, seed, /*has_rates=*/true), "nothing was thrown");
  }
}

TEST(OtherChange, SaysNothingAtAKinkOrWhereNoStepChangesAnything) {
  const auto curved = [](double step) { return 5 + 2 * step + 1000 * step * step; };
  EXPECT_NEAR(OtherChange(curved, 1, 1).value_or(0), 2, 1e-3) << "half of it is detached";
  EXPECT_FALSE(OtherChange(curved, 2, 1));
  EXPECT_FALSE(OtherChange([](double step) { return 5 + std::max(step, 0.0); }, 0, 1)) << "a ReLU at 0";
  EXPECT_FALSE(OtherChange([](double) { return 5.0; }, 1, 1)) << "straight through a step function";
}

}  // namespace
}  // namespace medley
