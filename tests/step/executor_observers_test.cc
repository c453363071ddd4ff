// Modes that a spec allows and a graph forbids; who is told what during a step.

#include <gtest/gtest.h>
#include <medley/contract/contract_check.h>
#include <medley/step/abandon.h>

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
  ContractCheck check(model, at::kCPU);
  EXPECT_TRUE(Says(MessageOf([&] { check.Check(*task.task, Fixture::Range(0)); }),
                   {"'qa'", "libtorch's own generator", "rows.Random(row)"}));
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
        std::vector<Gradient> gradients;
        std::vector<int> runs;
        for (const RecomputedLayers& layers : std::vector<RecomputedLayers>{0, 1, 2, 3, {2, 3}}) {
          const Execution plan{.way = {mode, layers}};
          model.layers_run = 0;
          executor.Run({{task->task.get(), &batch, &plan}});
          gradients.push_back(TakeGradient(model));
          runs.push_back(model.layers_run);
          EXPECT_TRUE(SameBits(gradients.back(), gradients.front())) << layers.Fraction();
        }
        EXPECT_GT(runs[1], runs[2]);
        EXPECT_GT(runs[2], runs[0]);
        EXPECT_EQ(runs[2], runs[3]);  // layer 0 alone: there are two
      }
    }
  }
}

// Writes down all that it is told: "backward" begins, "done" ends one.
struct Diary final : StepObserver {
  void DrawBegins(const std::string& task) override { told.push_back("begin " + task); }
  void DrawEnds(const std::string& task) override { told.push_back("end " + task); }
  void PassRan(const PassRun& run) override {
    told.push_back(run.pass);
    EXPECT_FALSE(run.saved) << "nobody wanted to know";
  }
  void BackwardBegins() override { told.emplace_back("backward"); }
  void BackwardEnds() override { told.emplace_back("done"); }

  std::vector<std::string> told;
};
using Told = std::vector<std::string>;

Told ToldOf(Fixture& task, const Execution& execution, std::int64_t rows = 3) {
  FixtureModel model;
  const Batch batch = task.Rows(0, rows);
  StepExecutor executor(model, at::kCPU);
  Diary diary;
  executor.Run({{task.task.get(), &batch, &execution}}, diary);
  return diary.told;
}

TEST(Observers, AreToldOfEveryDrawInOrder) {
  FixtureModel model;
  Fixture a = Qa("a", 2), b = Canvas();
  const Batch a_rows = a.Rows(0, 3), b_rows = b.Rows(0, 3);
  const Execution plan{.way = {Mode::kJoint}, .micro_rows = 2};
  StepExecutor executor(model, at::kCPU);
  Diary diary;
  executor.Run(
      {{a.task.get(), &a_rows, &plan}, {b.task.get(), &b_rows, &plan}, {a.task.get(), &a_rows, &plan}},
      diary);
  std::erase_if(diary.told, [](const std::string& word) {
    return !word.starts_with("begin") && !word.starts_with("end");
  });
  EXPECT_EQ(diary.told, (Told{"begin a", "end a", "begin canvas", "end canvas", "begin a", "end a"}));
}

// A first draw is held against its spec before: of that nobody is told.
TEST(Observers, AreToldOfPassesAndBackwardsAsTheModeHasThem) {
  Fixture qa = Qa("qa", 2), canvas = Canvas();
  EXPECT_EQ(ToldOf(qa, {.way = {Mode::kJoint}}),
            (Told{"begin qa", "q0", "q1", "backward", "done", "end qa"}));
  EXPECT_EQ(
      ToldOf(qa, {.way = {Mode::kSequential}}),
      (Told{"begin qa", "q1", "backward", "done", "q0", "backward", "done", "backward", "done", "end qa"}))
      << "the last is that of the picture that both read";
  EXPECT_EQ(ToldOf(canvas, {.way = {Mode::kTwoStage}}),
            (Told{"begin canvas", "first", "second", "third", "backward", "done", "second", "backward",
                  "done", "first", "backward", "done", "backward", "done", "end canvas"}));
}

// Where memory runs out there, it is a backward that overflowed.
TEST(Observers, AreToldThatTheBackwardOfASharedEncodingThrew) {
  Fixture qa = Qa("qa", 2);
  const Batch batch = qa.Rows(0, 3);
  const Execution sequential{.way = {Mode::kSequential}};
  FixtureModel model;
  StepExecutor executor(model, at::kCPU);
  model.parameters().front().tensor.register_hook(  // the encoder's
      [](const at::Tensor&) -> at::Tensor { throw Error("no room for the encoder's gradient"); });
  Diary diary;
  EXPECT_THROW(executor.Run({{qa.task.get(), &batch, &sequential}}, diary), Error);
  AbandonStep(model, at::kCPU);
  EXPECT_EQ(diary.told, (Told{"begin qa", "q1", "backward", "done", "q0", "backward", "done", "backward"}));
}

TEST(Observers, HearOfAPassOnceAMicroBatchAndNotOfLayersThatRunAgain) {
  Fixture qa = Qa("qa", 1);
  const Told piece = {"q0", "backward", "done"};
  Told expected = {"begin qa"};
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), piece.begin(), piece.end());
  expected.emplace_back("end qa");
  for (const int recompute_every : {0, 1}) {
    EXPECT_EQ(ToldOf(qa, {.way = {Mode::kJoint, recompute_every}, .micro_rows = 2}, 5), expected)
        << recompute_every;
  }
}

TEST(Observers, CountTheTokensThatEveryForwardHandsToTheModel) {
  FixtureModel model;
  Fixture qa = Qa("qa", 3), canvas = Canvas();
  const Batch qa_rows = qa.Rows(0, 5), canvas_rows = canvas.Rows(0, 4);
  const Execution sequential{.way = {Mode::kSequential}, .micro_rows = 2}, two{.way = {Mode::kTwoStage, 1}};
  StepExecutor executor(model, at::kCPU);
  PassCounter counter;
  executor.Run({{qa.task.get(), &qa_rows, &sequential}, {canvas.task.get(), &canvas_rows, &two}}, counter);
  EXPECT_EQ(counter.forwards, (std::map<std::string, std::int64_t>{{"qa", 3 * 3}, {"canvas", 3 + 2}}));
  EXPECT_EQ(counter.tokens, (std::map<std::string, std::int64_t>{{"qa", 3 * 5 * kWords}, {"canvas", 0}}));
}

// So that whoever catches it knows where it came from.
TEST(Observers, AreNotToldOfTheEndOfWhatThrew) {
  bool in_backward = false;
  Fixture task(QaInfo("qa", 2), {.sample = [](const RowRange& rows) { return QaRows(rows, 2); },
                                 .run =
                                     [&](const std::string& pass, PassContext& context) {
                                       Sums sums = QaPass(pass, context);
                                       if (pass == "q0") return sums;
                                       if (!in_backward) throw Error("a mistake in the forward");
                                       sums["size"].register_hook([](const at::Tensor&) -> at::Tensor {
                                         throw Error("a mistake in the backward");
                                       });
                                       return sums;
                                     }});
  const Execution joint{.way = {Mode::kJoint}};
  const Batch batch = task.Rows(0, 3);
  for (const auto& [where, expected] :
       {std::pair{false, Told{"begin qa", "q0"}}, {true, Told{"begin qa", "q0", "q1", "backward"}}}) {
    in_backward = where;
    FixtureModel model;
    StepExecutor executor(model, at::kCPU);
    Diary diary;
    EXPECT_THROW(executor.Run({{task.task.get(), &batch, &joint}}, diary), Error);
    AbandonStep(model, at::kCPU);
    EXPECT_EQ(diary.told, expected);
  }
}

TEST(PassMeter, SaysWhatEachPassSavedAndChangesNothing) {
  FixtureModel model(false);
  Fixture task = Canvas();
  const Batch batch = task.Rows(0, 6);
  std::map<std::string, std::vector<std::int64_t>> saved;
  const auto run = [&](Mode mode, std::int64_t micro_rows, int recompute_every, bool metered) {
    StepExecutor executor(model, at::kCPU);
    saved.clear();
    const Execution plan{.way = {mode, recompute_every}, .micro_rows = micro_rows};
    if (!metered) return DrawGradient(executor, model, task, batch, plan);
    SavedBytesMeter meter;
    executor.Run({{task.task.get(), &batch, &plan}}, meter);
    EXPECT_EQ(meter.saved.size(), 1U);
    saved = meter.saved.at("canvas");
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
