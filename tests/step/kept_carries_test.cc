#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <medley/base/random.h>
#include <medley/memory/cpu_allocator.h>

#include <list>
#include <optional>
#include <set>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

// An action for each row, drawn from the model's own probabilities.
at::Tensor Actions(const at::Tensor& logits, std::uint64_t seed, std::int64_t first) {
  const at::Tensor reached = logits.softmax(1).cumsum(1);
  std::vector<double> drawn;
  for (std::int64_t i = 0; i < logits.size(0); ++i)
    drawn.push_back(RowRandom(CombineSeeds(seed, static_cast<std::uint64_t>(first + i))).Uniform());
  const at::Tensor at = at::tensor(drawn, logits.options().requires_grad(false)).unsqueeze(1);
  return reached.lt(at).sum(1).clamp_max(kClasses - 1);
}

// REINFORCE: one pass draws an action a row and keeps it with its reward, one learns from both. `carries`: a
// picture is drawn in front of them, which both look at; `watches`: a pass with a gradient keeps the
// baseline.
Fixture Reinforce(bool carries, bool watches = false) {
  TaskInfo info;
  info.name = "reinforce";
  const std::string seen = carries ? "c1" : "picture";
  VariantInfo variant{.name = "default"};
  if (carries)
    variant.passes.push_back(
        {.name = "draw", .images = {"picture"}, .decodes_image = true, .carries = {"c1"}});
  PassInfo act{.name = "act", .images = {seen}};
  act.keeps = {"action", "reward", "won", "small", "state"};
  act.no_gradient = true;
  variant.passes.push_back(act);
  if (watches) {
    PassInfo watch{.name = "watch", .images = {seen}};
    watch.keeps = {"baseline"};
    variant.passes.push_back(watch);
  }
  variant.passes.push_back({.name = "learn", .images = {seen}});
  variant.terms = {{.name = "policy"}, {.name = "won", .weight = 0}};
  if (carries) variant.terms.push_back({.name = "error", .weight = 0.5});
  if (watches) variant.terms.push_back({.name = "value", .weight = 0.25});
  info.variants = {variant};
  info.inputs = {"images"};
  info.outputs = {"y"};
  if (carries) info.outputs.push_back("image");
  const auto sample = [variant](const RowRange& rows) {
    Batch batch(rows);
    batch.Add("picture", Bytes(rows, 1));
    batch.Add("wanted", Ints(rows, 2, kClasses));
    for (const TermInfo& term : variant.terms) batch.CountEach(term.name);
    return batch;
  };
  const auto run = [seen, watches](const std::string& pass, PassContext& context) -> Sums {
    if (pass == "draw") {
      const at::Tensor image = context.Forward({context.Image("picture")}, {"image"}).at("image");
      context.Carry("c1", image);
      return {{"error", image.pow(2).sum()}};
    }
    const at::Tensor y = context.Forward({context.Image(seen)}, {"y"}).at("y");
    if (pass == "act") {
      const at::Tensor action = Actions(y, context.Seed("action"), context.batch().rows().begin);
      const at::Tensor won = action.eq(context.batch().Column("wanted"));
      context.Carry("action", action);
      context.Carry("reward", won.to(y.scalar_type()));
      context.Carry("won", won);
      context.Carry("small", y.to(at::kHalf));
      context.Carry("state", y.unsqueeze(1).expand({-1, 3, -1}));
      return {{"won", won.sum().to(y.scalar_type())}};
    }
    if (pass == "watch") {
      const at::Tensor value = y.select(1, 0);
      context.Carry("baseline", value);
      return {{"value", (value - context.Carried("reward")).pow(2).sum()}};
    }
    EXPECT_FALSE(context.Carried("reward").requires_grad());
    at::Tensor reward = context.Carried("reward") + context.Carried("state").mean({1, 2}) +
                        context.Carried("small").to(y.scalar_type()).mean(1) * 0.1;
    reward = reward + context.Carried("won").to(y.scalar_type());
    if (watches) reward = reward - context.Carried("baseline");
    const at::Tensor log_probability =
        y.log_softmax(1).gather(1, context.Carried("action").unsqueeze(1)).squeeze(1);
    return {{"policy", -(log_probability * reward).sum()}};
  };
  return Fixture(std::move(info), {.sample = sample, .run = run});
}

std::map<std::string, std::int64_t> ForwardsOf(const Model& model, Fixture& task, Mode mode) {
  StepExecutor executor(model, at::kCPU);
  const Batch batch = task.Rows(5, 6);
  const Execution plan{.way = {mode}};
  PassCounter counter;
  executor.Run({{task.task.get(), &batch, &plan}}, counter);
  ClearGradients(model);
  return counter.forwards;
}

TEST(KeptCarries, GiveOneGradientInEveryModeAndInAnyMicroBatches) {
  for (const auto& [dtype, tolerance] : {std::pair{at::kDouble, 1e-12}, std::pair{at::kFloat, 5e-6}}) {
    for (const auto& [carries, watches] :
         {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
      FixtureModel model;
      model.To(at::kCPU, dtype);
      Fixture task = Reinforce(carries, watches);
      const Batch batch = task.Rows(3, 7);
      StepLosses expected;
      const Gradient joint = DrawGradient(model, task, batch, Mode::kJoint, 0, &expected);
      for (const Mode mode : LegalModes(task.task->variant())) {
        for (const std::int64_t micro_rows : {0, 1, 3}) {
          for (const int recompute_every : {0, 1}) {
            StepLosses losses;
            const Gradient found =
                DrawGradient(model, task, batch, mode, micro_rows, &losses, recompute_every);
            EXPECT_LE(Distance(found, joint), tolerance)
                << ModeName(mode) << ", micro rows " << micro_rows << ", recompute " << recompute_every;
            EXPECT_NEAR(losses["reinforce"]["won"].sum, expected["reinforce"]["won"].sum, 1e-6);
            EXPECT_NEAR(WeightedLoss(losses), WeightedLoss(expected), 1e-5);
          }
        }
      }
    }
  }
}

TEST(KeptCarries, LeaveTheOtherModesLegal) {
  EXPECT_EQ(LegalModes(Reinforce(false).task->variant()), (std::vector{Mode::kJoint, Mode::kSequential}));
  EXPECT_EQ(LegalModes(Reinforce(true).task->variant()), (std::vector{Mode::kJoint, Mode::kTwoStage}));
}

// What has no gradient runs once in every mode; of the others those twice that hand something on.
TEST(KeptCarries, CostAForwardAlone) {
  const FixtureModel model;
  Fixture plain = Reinforce(false), carrying = Reinforce(true), watching = Reinforce(true, true);
  EXPECT_EQ(ForwardsOf(model, plain, Mode::kJoint).at("reinforce"), 2);
  EXPECT_EQ(ForwardsOf(model, plain, Mode::kSequential).at("reinforce"), 2);
  EXPECT_EQ(ForwardsOf(model, carrying, Mode::kTwoStage).at("reinforce"), 4);
  EXPECT_EQ(ForwardsOf(model, watching, Mode::kTwoStage).at("reinforce"), 6);
}

// The same action wherever the row stands: else the second stage would learn another one.
TEST(KeptCarries, DrawByTheRowsNumber) {
  std::map<std::int64_t, std::set<std::int64_t>> drawn;
  std::set<std::uint64_t> seeds;
  Fixture task = Reinforce(false);
  Script script{.sample = [&](const RowRange& rows) { return task.task->Sample(rows); },
                .run =
                    [&](const std::string& pass, PassContext& context) {
                      seeds.insert(context.Seed("action"));
                      Sums sums = task.task->Run(pass, context);
                      if (pass == "learn") {
                        const at::Tensor action = context.Carried("action");
                        for (std::int64_t i = 0; i < action.size(0); ++i)
                          drawn[context.batch().rows().begin + i].insert(action[i].item<std::int64_t>());
                      }
                      return sums;
                    }};
  Fixture watched(TaskInfo(*task.info), std::move(script));
  FixtureModel model;
  StepExecutor executor(model, at::kCPU);  // a check would run it on other outputs
  const Batch batch = watched.Rows(10, 9);
  std::list<Execution> plans;
  for (const std::int64_t micro_rows : {0, 1, 4})
    executor.Run({{watched.task.get(), &batch,
                   &plans.emplace_back(Execution{.way = {Mode::kSequential}, .micro_rows = micro_rows})}});
  ClearGradients(model);
  std::set<std::int64_t> all;
  for (const auto& [row, actions] : drawn) {
    EXPECT_EQ(actions.size(), 1U) << "row " << row;
    all.insert(actions.begin(), actions.end());
  }
  EXPECT_GT(all.size(), 1U);
  EXPECT_EQ(seeds.size(), 2U);  // one a pass
}

// Of a part of something larger only the part stays.
TEST(KeptCarries, HoldNothingButThemselves) {
  InstallCpuAllocator();
  Fixture task = Reinforce(false);
  std::int64_t before = 0, kept = 0;
  Script script{.sample = [&](const RowRange& rows) { return task.task->Sample(rows); },
                .run = [&](const std::string& pass, PassContext& context) -> Sums {
                  const at::Tensor y = context.Forward({context.Image("picture")}, {"y"}).at("y");
                  if (pass == "act") {
                    before = ReadCpuMemory().now;
                    const at::Tensor wide = at::zeros({y.size(0), 100000}).add(y.select(1, 0).unsqueeze(1));
                    for (const char* name : {"action", "reward", "won", "small", "state"})
                      context.Carry(name, wide.select(1, 7));
                    return {};
                  }
                  kept = ReadCpuMemory().now - before;
                  for (const char* name : {"action", "reward", "won", "small", "state"})
                    context.Carried(name);
                  return {{"policy", y.sum()}};
                }};
  Fixture watched(TaskInfo(*task.info), std::move(script));
  FixtureModel model;
  StepExecutor executor(model, at::kCPU);
  const Batch batch = watched.Rows(0, 4);
  const Execution plan{.way = {Mode::kJoint}};
  executor.Run({{watched.task.get(), &batch, &plan}});
  EXPECT_LT(kept, 100000);
}

struct Wrong {
  std::string what;
  std::function<void(TaskInfo&)> info;
  std::function<std::optional<Sums>(const std::string&, PassContext&)> run;
  std::vector<std::string> words;
};

TEST(KeptCarries, AreRefusedInASentence) {
  const auto nothing = [](TaskInfo&) {};
  const auto none = [](const std::string&, PassContext&) { return std::optional<Sums>(); };
  const std::vector<Wrong> wrongs = {
      {"not declared",
       nothing,
       [](const std::string& pass, PassContext& context) -> std::optional<Sums> {
         if (pass == "act") context.Carry("other", at::zeros({context.batch().size()}));
         return {};
       },
       {"pass 'act' made the carry 'other'", "its keeps"}},
      {"not made",
       [](TaskInfo& info) { info.variants[0].passes[0].keeps.push_back("more"); },
       none,
       {"did not make the carry 'more'"}},
      {"read before it is made",
       [](TaskInfo& info) { std::swap(info.variants[0].passes[0], info.variants[0].passes[1]); },
       none,
       {"pass 'learn' reads 'reward', which a later pass makes ('act')"}},
      {"a term with a weight",
       [](TaskInfo& info) { info.variants[0].terms[1].weight = 1; },
       none,
       {"pass 'act' has no gradient and adds to the term 'won'", "weight 0"}},
  };
  for (const Wrong& wrong : wrongs) {
    Fixture right = Reinforce(false);
    TaskInfo info = *right.info;
    wrong.info(info);
    Fixture task(std::move(info), {.sample = [&](const RowRange& rows) { return right.task->Sample(rows); },
                                   .run =
                                       [&](const std::string& pass, PassContext& context) {
                                         const std::optional<Sums> sums = wrong.run(pass, context);
                                         return sums ? *sums : right.task->Run(pass, context);
                                       }});
    FixtureModel model;
    EXPECT_TRUE(
        Says(MessageOf([&] { DrawGradient(model, task, task.Rows(0, 3), Mode::kJoint); }), wrong.words))
        << wrong.what;
  }
}

TEST(KeptCarries, AFigureGetsNoWeightByTheConfig) {
  Fixture task = Reinforce(false);
  const FixtureModel model;
  StepExecutor executor(model, at::kCPU);
  const Batch batch = task.Rows(0, 3);
  const Execution plan{.way = {Mode::kJoint}, .term_weights = {{"won", 0.5}}};
  EXPECT_TRUE(Says(MessageOf<InputError>([&] {
                     executor.Run({{task.task.get(), &batch, &plan}});
                   }),
                   {"tasks.reinforce.terms.won", "nothing of the term 'won' would be learned", "'act'"}));
}

// Each picture is encoded once with a graph and once without.
TEST(KeptCarries, SharesNoEncodingBetweenAGraphAndNone) {
  FixtureModel model;
  Fixture task = Reinforce(false, true);
  DrawGradient(model, task, task.Rows(3, 7), Mode::kJoint);
  model.encodings_made = 0;
  StepExecutor executor(model, at::kCPU);
  const Batch batch = task.Rows(3, 7);
  const Execution plan{.way = {Mode::kJoint}};
  executor.Run({{task.task.get(), &batch, &plan}});
  EXPECT_EQ(model.encodings_made, 2);
}

// As the contract sees them: nothing of it is wrong, and what is not of a row alone is named.
TEST(KeptCarries, AreHeldAgainstTheContract) {
  for (const auto& [carries, watches] : {std::pair{false, false}, {true, true}}) {
    FixtureModel model;
    Fixture task = Reinforce(carries, watches);
    ContractCheck check(model, at::kCPU);
    EXPECT_EQ(MessageOf([&] { check.Check(*task.task, Fixture::Range(0), /*thorough=*/true); }),
              "nothing was thrown");
    EXPECT_TRUE(check.TakeNotJudged().empty());
  }
  Fixture right = Reinforce(false);
  const auto planted = [&](const std::function<at::Tensor(const at::Tensor&, PassContext&)>& reward) {
    Script script{.sample = [&](const RowRange& rows) { return right.task->Sample(rows); },
                  .run = [&, reward](const std::string& pass, PassContext& context) -> Sums {
                    if (pass != "act") return right.task->Run(pass, context);
                    const at::Tensor y = context.Forward({context.Image("picture")}, {"y"}).at("y");
                    const at::Tensor action =
                        Actions(y, context.Seed("action"), context.batch().rows().begin);
                    context.Carry("action", action);
                    context.Carry("reward", reward(action.to(y.scalar_type()), context));
                    context.Carry("won", action.eq(2));
                    context.Carry("small", y.to(at::kHalf));
                    context.Carry("state", y.unsqueeze(1).expand({-1, 3, -1}));
                    return {{"won", action.sum().to(y.scalar_type())}};
                  }};
    Fixture task(TaskInfo(*right.info), std::move(script));
    FixtureModel model;
    ContractCheck check(model, at::kCPU);
    return MessageOf([&] { check.Check(*task.task, Fixture::Range(0), /*thorough=*/true); });
  };
  EXPECT_EQ(planted([](const at::Tensor& action, PassContext&) { return action; }), "nothing was thrown");
  EXPECT_TRUE(Says(planted([](const at::Tensor& action, PassContext&) { return action - action.mean(); }),
                   {"what a pass keeps as 'reward' is another for the rows", "beside it"}));
  EXPECT_TRUE(Says(planted([](const at::Tensor& action, PassContext& context) {
                     const auto number = static_cast<double>(context.batch().size());
                     return action * number;
                   }),
                   {"what a pass keeps as 'reward'"}));
  int calls = 0;
  EXPECT_TRUE(Says(planted([&](const at::Tensor& action, PassContext&) { return action + 0.5 * ++calls; }),
                   {"the carry 'reward'", "keeps nothing between calls"}));
}

}  // namespace
}  // namespace medley
