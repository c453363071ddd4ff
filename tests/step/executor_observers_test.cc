// Modes that a spec allows and a graph forbids; who is told what during a step.

#include <gtest/gtest.h>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

Fixture Hiding(std::shared_ptr<at::Tensor> hidden, bool detach) {
  return Fixture(QaInfo("qa", 2), {.sample = [](const RowRange& rows) { return QaRows(rows, 2); },
                                   .run =
                                       [hidden, detach](const std::string& pass, PassContext& context) {
                                         Sums sums = QaPass(pass, context);
                                         if (pass == "q0")
                                           *hidden = detach ? sums["size"].detach() : sums["size"];
                                         if (pass == "q1" && hidden->defined())
                                           sums["answer"] = sums["answer"] + *hidden * sums["size"];
                                         return sums;
                                       }});
}

TEST(HiddenCoupling, IsRefusedInASplitModeBeforeAnythingRuns) {
  FixtureModel model;
  Fixture task = Hiding(std::make_shared<at::Tensor>(), false);
  const std::string message =
      MessageOf([&] { DrawGradient(model, task, task.Rows(0, 3), Mode::kSequential); });
  EXPECT_TRUE(
      Says(message, {"'qa'", "'q1' depends on pass 'q0'", "every mode but joint", "Carry and Carried"}));
  for (const Parameter& parameter : model.parameters()) EXPECT_FALSE(parameter.tensor.grad().defined());
}

// No graph shows a value that was kept without its history.
TEST(HiddenCoupling, IsRefusedWhereOnlyAValueIsKept) {
  FixtureModel model;
  Fixture task = Hiding(std::make_shared<at::Tensor>(), true);
  const std::string message =
      MessageOf([&] { DrawGradient(model, task, task.Rows(0, 3), Mode::kSequential); });
  EXPECT_TRUE(Says(message, {"'qa'", "no mode but joint", "keeps nothing"}));
}

TEST(HiddenCoupling, IsRefusedInTwoStageMode) {
  FixtureModel model;
  const Fixture canvas = Canvas();
  auto hidden = std::make_shared<at::Tensor>();
  Fixture task(*canvas.info, {.sample = [&](const RowRange& rows) { return canvas.task->Sample(rows); },
                              .run = [hidden](const std::string& pass, PassContext& context) -> Sums {
                                ModelInputs inputs;
                                if (pass != "third") inputs.push_back(context.Image("picture"));
                                if (pass != "first") inputs.push_back(context.Image("c1"));
                                if (pass == "third") inputs.push_back(context.Image("c2"));
                                const at::Tensor image = context.Forward(inputs, {"image"}).at("image");
                                if (pass != "third") context.Carry(pass == "first" ? "c1" : "c2", image);
                                if (pass == "first") *hidden = image.pow(2);
                                const at::Tensor sum = (image - context.Pixels("target")).pow(2).sum();
                                return {{"error", pass == "third" ? sum + hidden->sum() : sum}};
                              }});
  const std::string message = MessageOf([&] { DrawGradient(model, task, task.Rows(0, 3), Mode::kTwoStage); });
  EXPECT_TRUE(Says(message, {"'canvas'", "'third' depends on pass 'first'", "every mode but joint"}));
}

TEST(HiddenCoupling, RandomNumbersOfLibtorchAreADifference) {
  FixtureModel model;
  Fixture task(QaInfo("qa", 2), {.sample = [](const RowRange& rows) { return QaRows(rows, 2); },
                                 .run =
                                     [](const std::string& pass, PassContext& context) {
                                       Sums sums = QaPass(pass, context);
                                       sums["size"] = sums["size"] * at::rand({}, at::kDouble);
                                       return sums;
                                     }});
  StepExecutor executor(model, at::kCPU);
  EXPECT_TRUE(Says(MessageOf([&] { executor.CheckContract(*task.task, task.Rows(0, 1)); }),
                   {"'qa'", "libtorch's own generator", "Seed"}));
}

// What runs again later must not reach back to the context, which is gone by then.
TEST(Layers, MayNotCallTheContext) {
  class Reaching : public FixtureModel {
    ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                         ForwardContext& context) const override {
      context.Layer("text", 3, inputs.front().tensor, [&](const at::Tensor& x) {
        context.Seed("dropout");
        return x;
      });
      return FixtureModel::Forward(inputs, wanted, context);
    }
  } model;
  Fixture task = Qa("qa", 1);
  EXPECT_TRUE(Says(MessageOf([&] { DrawGradient(model, task, task.Rows(0, 2), Mode::kJoint); }),
                   {"'text' 3", "Seed", "before Layer"}));
}

TEST(Recompute, OfEveryKthLayerIsBitForBitTheSameAndRunsOnlyThoseAgain) {
  for (const bool drops : {false, true}) {
    FixtureModel model;
    model.drops = drops;
    Fixture qa = Qa("qa", 3), canvas = Canvas();
    for (Fixture* task : {&qa, &canvas}) {
      const Batch batch = task->Rows(5, 6);
      std::vector<Mode> modes = LegalModes(task->task->variant());
      for (const Mode mode : modes) {
        StepExecutor executor(model, at::kCPU);
        executor.CheckContract(*task->task, task->Rows(0, 1));
        std::vector<Gradient> gradients;
        std::vector<int> runs;
        for (const int recompute_every : {0, 1, 2, 3}) {
          const ExecutionPlan plan{.mode = mode, .recompute_every = recompute_every};
          model.layers_run = 0;
          executor.Run({{task->task.get(), &batch, &plan}});
          gradients.push_back(TakeGradient(model));
          runs.push_back(model.layers_run);
          EXPECT_TRUE(SameBits(gradients.back(), gradients.front())) << recompute_every;
        }
        EXPECT_GT(runs[1], runs[2]);
        EXPECT_GT(runs[2], runs[0]);
        EXPECT_EQ(runs[2], runs[3]);  // layer 0 alone: there are two
      }
    }
  }
}

TEST(Observers, AreToldOfEveryDrawInOrder) {
  FixtureModel model;
  Fixture a = Qa("a", 2), b = Canvas();
  const Batch a_rows = a.Rows(0, 3), b_rows = b.Rows(0, 3);
  const ExecutionPlan plan{.mode = Mode::kJoint, .micro_rows = 2};
  StepExecutor executor(model, at::kCPU);
  std::vector<std::string> told;
  executor.SetDrawObserver([&](const std::string& task) { told.push_back("begin " + task); },
                           [&](const std::string& task) { told.push_back("end " + task); });
  executor.Run(
      {{a.task.get(), &a_rows, &plan}, {b.task.get(), &b_rows, &plan}, {a.task.get(), &a_rows, &plan}});
  EXPECT_EQ(told,
            (std::vector<std::string>{"begin a", "end a", "begin canvas", "end canvas", "begin a", "end a"}));
}

TEST(PassMeter, SaysWhatEachPassSavedAndChangesNothing) {
  FixtureModel model(false);
  Fixture task = Canvas();
  const Batch batch = task.Rows(0, 6);
  std::map<std::string, std::vector<std::int64_t>> saved;
  const auto run = [&](Mode mode, std::int64_t micro_rows, int recompute_every, bool metered) {
    StepExecutor executor(model, at::kCPU);
    executor.CheckContract(*task.task, task.Rows(0, 1));
    saved.clear();
    if (metered) {
      executor.SetPassMeter([&](const std::string& name, const std::string& pass, std::int64_t bytes) {
        EXPECT_EQ(name, "canvas");
        saved[pass].push_back(bytes);
      });
    }
    const ExecutionPlan plan{.mode = mode, .micro_rows = micro_rows, .recompute_every = recompute_every};
    executor.Run({{task.task.get(), &batch, &plan}});
    return TakeGradient(model);
  };
  for (const Mode mode : {Mode::kJoint, Mode::kTwoStage}) {
    for (const int recompute_every : {0, 1}) {
      const Gradient expected = run(mode, 0, recompute_every, false);
      EXPECT_TRUE(SameBits(run(mode, 0, recompute_every, true), expected));
      for (const auto& [pass, list] : saved)
        EXPECT_EQ(list.size(), 1U) << pass;  // graphless runs do not count
      EXPECT_EQ(saved.size(), 3U);
    }
  }
  run(Mode::kJoint, 0, 0, true);
  const auto whole = saved;
  run(Mode::kJoint, 2, 0, true);
  const auto thirds = saved;
  run(Mode::kJoint, 0, 1, true);
  for (const auto& [pass, list] : whole) {
    EXPECT_EQ(list[0], 3 * thirds.at(pass)[0]) << pass;  // and so no weights among them
    EXPECT_LE(saved.at(pass)[0], list[0]) << pass;
  }
  EXPECT_GT(whole.at("second")[0], whole.at("first")[0]);  // one picture more
}

}  // namespace
}  // namespace medley
