// Mistakes that hide where rows are alike, in what a task or a model keeps, and in models that no task runs:
// the author's kit finds each of them with every seed. Beside the losses of planted_losses_test.cc.
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/testing/checks.h>

#include <ATen/CPUGeneratorImpl.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/contract/planted_tasks.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace planted;

// Before the first tensor of the program: kept memory is counted.
const bool kCounted = (InstallCpuAllocator(), true);

std::vector<std::int64_t> Seeds(const std::string& sweep) {
  return test::SliceOfSteps(sweep, 0, 20, /*of=*/10);
}

struct Said {
  check::Findings findings;
  std::vector<std::string> not_judged;

  std::string Words() const {
    std::string words;
    for (const std::string& one : findings) words += one + "\n";
    for (const std::string& one : not_judged) words += "not judged: " + one + "\n";
    return words;
  }
};

// Rows begin elsewhere with each seed.
Said KitOf(const Fixture& fixture, std::uint64_t seed, bool thorough = true) {
  const Net model(seed);
  ContractCheck check(model, at::kCPU);
  Said said;
  const std::string thrown = testing_fixture::MessageOf(
      [&] { check.Check(*fixture.task, {.seed = 100 + seed, .begin = 1, .count = 1}, thorough); });
  if (thrown != "nothing was thrown") said.findings.push_back(thrown);
  for (const auto& [task, missed] : check.TakeNotJudged())
    said.not_judged.insert(said.not_judged.end(), missed.begin(), missed.end());
  return said;
}

// [rows]: 1 in one of `of` rows, else 0.
at::Tensor Rare(const RowRange& rows, std::int64_t of) {
  return Made(rows, 9, {}, static_cast<double>(of)).eq(0).to(at::kFloat);
}

// The right rows with a column that says 1 of few.
std::function<Batch(const RowRange&, Batch)> WithReward(std::int64_t of = 10) {
  return [of](const RowRange& rows, Batch batch) {
    batch.Add("reward", Rare(rows, of));
    return batch;
  };
}

at::Tensor Reward(const Parts& p) { return p.context.batch().Column("reward").to(p.output.scalar_type()); }

// Each is a mistake in any of the kinds that it names.
const std::vector<Plant>& HiddenByEqualRows() {
  static const std::vector<Plant> plants = {
      {.name = "a baseline of the draw's mean",
       .loss = [](const Parts& p) { return (p.Losses() * (Reward(p) - Reward(p).mean())).sum(); },
       .rows = WithReward()},
      {.name = "a baseline of the draw's mean beside an ordinary loss",
       .loss = [](const Parts& p) { return (p.Losses() * (1.5 + Reward(p) - Reward(p).mean())).sum(); },
       .rows = WithReward()},
      {.name = "advantages over the draw's deviation",
       .loss =
           [](const Parts& p) {
             const at::Tensor apart = Reward(p) - Reward(p).mean();
             return (p.Losses() * (1 + apart / (apart.square().mean().sqrt() + 1e-2))).sum();
           },
       .rows = WithReward()},
      {.name = "a mean over the flagged rows",
       .loss =
           [](const Parts& p) {
             const at::Tensor keep = 1 - Reward(p);
             return (p.Losses() * keep).sum() / keep.sum().clamp_min(1) * p.rows();
           },
       .rows = WithReward()},
      {.name = "weights by how many rows of the draw have the flag",
       .loss = [](const Parts& p) { return (p.Losses() * (1 + Reward(p).sum() * 0.5)).sum(); },
       .rows = WithReward()},
      {.name = "the flagged rows' loss for the others",
       .loss =
           [](const Parts& p) {
             const at::Tensor losses = p.Losses();
             return losses.sum() + (Reward(p).sum() * losses.detach() * (1 - Reward(p))).sum() * 0.3;
           },
       .rows = WithReward()},
      {.name = "one unlike row changes the draw's scale",
       .loss = [](const Parts& p) { return p.Losses().sum() * (1 + Reward(p).amax()); },
       .rows = WithReward()}};
  return plants;
}

const std::vector<Plant>& AcrossRows() {
  static const std::vector<Plant> plants = {
      {.name = "targets viewed where they are to be transposed",
       .kinds = {Kind::kRegression},
       .loss =
           [](const Parts& p) {
             return (p.output - p.Target().reshape({kValues, p.rows()}).t()).square().mean(1).sum();
           }},
      {.name = "a cumulative sum over the rows",
       .loss = [](const Parts& p) { return p.Losses(p.output.cumsum(0), p.Target()).sum(); }},
      {.name = "in-batch negatives",
       .loss =
           [](const Parts& p) {
             const at::Tensor flat = p.output.flatten(1);
             const at::Tensor alike = at::mm(flat, flat.t());
             return p.Losses().sum() - at::log_softmax(alike, 1).diagonal().sum();
           }},
      {.name = "numbers of a generator that begins anew in each call",
       .loss =
           [](const Parts& p) {
             at::Generator generator = at::detail::createCPUGenerator(1);
             const at::Tensor noise = at::empty({p.rows()}, at::kDouble).uniform_(0.5, 1.5, generator);
             return (p.Losses() * noise).sum();
           }},
      {.name = "the draw's loss cut at a bound",
       .loss = [](const Parts& p) { return p.Losses().sum().clamp_max(1e-3); },
       .spec = [](TaskInfo& info) { info.variants[0].terms[0].stops_gradient = true; }},
      {.name = "the root of the draw's sum", .loss = [](const Parts& p) { return p.Losses().sum().sqrt(); }},
      {.name = "the draw's losses over their median",
       .loss =
           [](const Parts& p) {
             const at::Tensor losses = p.Losses();
             return (losses / (losses.median().detach() + 0.1)).sum();
           }},
      {.name = "weights by rank in the draw",
       .loss =
           [](const Parts& p) {
             const at::Tensor rank = p.Weights().argsort().argsort().to(at::kDouble);
             return (p.Losses() * (1 + rank)).sum();
           }},
      {.name = "a gradient scaled to a norm in a hook",
       .loss =
           [](const Parts& p) {
             const at::Tensor output = p.output * 1;
             if (output.requires_grad())
               output.register_hook([](const at::Tensor& gradient) { return gradient / gradient.norm(); });
             return p.Losses(output, p.Target()).sum();
           }},
      {.name = "a graph that leads nowhere",
       .loss =
           [](const Parts& p) {
             return p.Losses(p.output.detach().requires_grad_(p.output.requires_grad()), p.Target()).sum();
           }},
      {.name = "a loss under a mask that hides all",
       .loss = [](const Parts& p) { return (p.Losses() * p.Weights().lt(0)).sum(); }},
      {.name = "a row of a neighbour mixed in",
       .loss =
           [](const Parts& p) {
             return p.Losses(p.output * 0.9 + p.output.roll(1, 0) * 0.1, p.Target()).sum();
           }},
  };
  return plants;
}

const std::vector<Plant>& OfRows() {
  static const std::vector<Plant> plants = {
      {.name = "longest ignored",
       .kinds = {Kind::kText},
       .rows =
           [](const RowRange& rows, Batch) {
             RowRange plain = rows;
             plain.longest = false;
             const Batch made = planted::RowsOf(Kind::kText, Plant{}, plain);
             Batch batch(rows);
             for (const auto& [name, column] : made.columns()) batch.Add(name, column);
             batch.SetItems("loss", made.Column("lengths"));
             return batch;
           }},
      {.name = "longest rows with more items than the spec allows",
       .kinds = {Kind::kText},
       .rows =
           [](const RowRange& rows, Batch batch) {
             if (rows.longest) batch.SetItems("loss", at::full({rows.count}, kWidth + 1, at::kLong));
             return batch;
           }},
      {.name = "pads counted as items",
       .kinds = {Kind::kText},
       .count = [](Batch& batch) { batch.SetItems("loss", at::full({batch.size()}, kWidth, at::kLong)); }},
      {.name = "items of the whole range in each row",
       .kinds = {Kind::kRegression},
       .count =
           [](Batch& batch) { batch.SetItems("loss", at::full({batch.size()}, batch.size(), at::kLong)); }},
      {.name = "rows over the range's mean",
       .kinds = {Kind::kRegression},
       .rows = [](const RowRange&, Batch batch) {
         batch.Add("centred", batch.Column("x") - batch.Column("x").mean(0));
         return batch;
       }}};
  return plants;
}

struct WithState {
  std::string name;
  std::function<Plant()> make;
};

const std::vector<WithState>& Keepers() {
  static const std::vector<WithState> keepers = {
      {"each output in a list",
       [] {
         const auto kept = std::make_shared<std::vector<at::Tensor>>();
         return Plant{.name = "", .loss = [kept](const Parts& p) {
                        kept->push_back(p.output.detach().clone());
                        return p.Losses().sum();
                      }};
       }},
      {"the first row's weight for all that come",
       [] {
         const auto kept = std::make_shared<at::Tensor>();
         return Plant{.name = "", .loss = [kept](const Parts& p) {
                        if (!kept->defined()) *kept = p.Weights()[0].detach().clone();
                        return (p.Losses() * kept->to(p.output.scalar_type())).sum();
                      }};
       }},
      {"the first range's mean in Sample", [] {
         const auto kept = std::make_shared<at::Tensor>();
         return Plant{.name = "", .rows = [kept](const RowRange&, Batch batch) {
                        if (!kept->defined()) *kept = batch.Column("x").mean().clone();
                        batch.Add("centred", batch.Column("x") - *kept);
                        return batch;
                      }};
       }}};
  return keepers;
}

TEST(PlantedMistakes, ThoseThatEqualRowsHideAreFoundWithEverySeed) {
  for (const std::int64_t seed : Seeds("equal rows")) {
    for (const Plant& plant : HiddenByEqualRows()) {
      for (const Kind kind : plant.kinds) {
        EXPECT_NE(KitOf(TaskOf(kind, plant), seed).findings, check::Findings())
            << NameOf(kind) << ", " << plant.name << ", seed " << seed;
        EXPECT_NE(KitOf(TaskOf(kind, plant), seed, /*thorough=*/false).findings, check::Findings())
            << "in a first draw: " << NameOf(kind) << ", " << plant.name << ", seed " << seed;
      }
    }
  }
}

TEST(PlantedMistakes, ThoseAcrossRowsAndInSampleAreFoundWithEverySeed) {
  for (const std::int64_t seed : Seeds("across rows")) {
    for (const auto* plants : {&AcrossRows(), &OfRows()}) {
      for (const Plant& plant : *plants) {
        for (const Kind kind : plant.kinds) {
          const Said said = KitOf(TaskOf(kind, plant), seed);
          EXPECT_NE(said.Words(), "") << NameOf(kind) << ", " << plant.name << ", seed " << seed;
          EXPECT_EQ(said.findings.empty(), plant.name == "a loss under a mask that hides all")
              << NameOf(kind) << ", " << plant.name << ", seed " << seed << said.Words();
        }
      }
    }
  }
}

TEST(PlantedMistakes, ThoseThatKeepSomethingAreFoundWithEverySeed) {
  ASSERT_TRUE(kCounted);
  for (const std::int64_t seed : Seeds("keepers")) {
    for (const WithState& keeper : Keepers()) {
      for (const Kind kind : kKinds) {
        const Said said = KitOf(InstancesOf(kind, keeper.make), seed);
        EXPECT_NE(said.findings, check::Findings())
            << NameOf(kind) << ", " << keeper.name << ", seed " << seed;
      }
    }
  }
}

// What docs/writing-a-task.md names under "What the checks do not see".
TEST(PlantedMistakes, TheseAreNotSeen) {
  const std::vector<Plant> unseen = {
      {.name = "the wrong column as the target",
       .kinds = {Kind::kRegression},
       .loss =
           [](const Parts& p) {
             return (p.output - p.context.batch().Column("x").narrow(1, 0, kValues)).square().mean(1).sum();
           }},
      {.name = "the first row of each class alone, of a thousand",
       .kinds = {Kind::kRegression},
       .loss =
           [](const Parts& p) {
             const at::Tensor label = p.context.batch().Column("label");
             at::Tensor sum = at::zeros({}, p.output.options());
             std::set<std::int64_t> seen;
             for (std::int64_t row = 0; row < p.rows(); ++row) {
               if (seen.insert(label[row].item<std::int64_t>()).second) sum = sum + p.Losses()[row];
             }
             return sum;
           },
       .rows =
           [](const RowRange& rows, Batch batch) {
             batch.Add("label", Made(rows, 8, {}, 100'000));
             return batch;
           }},
      {.name = "a bonus for a row in a million",
       .loss = [](const Parts& p) { return (p.Losses() * (1 + Reward(p).mean())).sum(); },
       .rows = WithReward(1'000'000'000)}};
  for (const Plant& plant : unseen) {
    for (const Kind kind : plant.kinds)
      EXPECT_EQ(KitOf(TaskOf(kind, plant), 1).Words(), "") << NameOf(kind) << ", " << plant.name;
  }
}

// A right task whose rows have nothing to tell: rewards that are all 0, which need not stay so.
TEST(PlantedMistakes, WhatRowsCannotTellIsNamedAndNotRefused) {
  const Plant sparse{.name = "a reward that nobody gets yet",
                     .loss = [](const Parts& p) { return (p.Losses() * Reward(p)).sum(); },
                     .rows = WithReward(1'000'000'000)};
  const Said idle = KitOf(TaskOf(Kind::kRegression, sparse), 1);
  EXPECT_EQ(idle.findings, check::Findings());
  EXPECT_TRUE(testing_fixture::Says(idle.Words(), {"not judged", "'loss' moves nothing in 32 rows"}));
  const Plant even{.name = "one sum for all",
                   .loss =
                       [](const Parts& p) {
                         return p.output.flatten(1).sub(p.output.detach().flatten(1)).sum() + p.rows() * 1.0;
                       },
                   .spec = [](TaskInfo& info) { info.variants[0].terms[0].stops_gradient = true; }};
  const Said alike = KitOf(TaskOf(Kind::kRegression, even), 1);
  EXPECT_EQ(alike.findings, check::Findings());
  EXPECT_TRUE(testing_fixture::Says(alike.Words(), {"the sums of 'loss' are equal in 32 rows"}));
}

// A run says so after 50 draws alone, and refuses then what does not add up.
TEST(PlantedMistakes, ATermThatMovesNothingIsLookedAtAgainAfterFiftyDraws) {
  for (const bool wakes : {false, true}) {
    const auto awake = std::make_shared<bool>(false);
    const Plant plant{.name = "rewards that come later", .loss = [awake](const Parts& p) {
                        const at::Tensor reward = *awake ? p.Weights() : at::zeros_like(p.Weights());
                        return (p.Losses() * (reward - reward.mean())).sum();
                      }};
    const Fixture fixture = TaskOf(Kind::kRegression, plant);
    const Net model(1);
    ContractCheck check(model, at::kCPU);
    check.Check(*fixture.task, {.seed = 3, .begin = 0, .count = 1});
    EXPECT_TRUE(check.TakeNotJudged().empty());
    *awake = wakes;
    const auto draw = [&] { check.Watch(*fixture.task, fixture.Rows(1000, 4)); };
    for (int i = 1; i < 50; ++i) draw();
    EXPECT_TRUE(check.TakeNotJudged().empty());
    const std::string last = testing_fixture::MessageOf(draw);
    EXPECT_EQ(last != "nothing was thrown", wakes) << last;
    EXPECT_EQ(check.TakeNotJudged().size(), wakes ? 0U : 1U);
  }
}

TEST(PlantedMistakes, RightTasksHearNothing) {
  for (const std::int64_t seed : Seeds("right tasks")) {
    for (const Kind kind : kKinds) {
      EXPECT_EQ(KitOf(InstancesOf(kind, [] { return Plant{.name = "nothing"}; }), seed).Words(), "")
          << NameOf(kind) << seed;
      EXPECT_EQ(
          KitOf(TaskOf(kind, {.name = "a flag that few have",
                              .loss = [](const Parts& p) { return (p.Losses() * (1 + Reward(p))).sum(); },
                              .rows = WithReward()}),
                seed)
              .Words(),
          "")
          << NameOf(kind) << seed;
    }
  }
}

}  // namespace
}  // namespace medley
