#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/step/abandon.h>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

// Each pass looks at one picture, so that every parameter is used once a pass; yet c1 has two readers.
Fixture Chain() {
  TaskInfo info;
  info.name = "chain";
  info.variants = {
      {.name = "default",
       .passes = {{.name = "first", .images = {"picture"}, .decodes_image = true, .carries = {"c1"}},
                  {.name = "second", .images = {"c1"}, .decodes_image = true, .carries = {"c2"}},
                  {.name = "third", .images = {"c2"}, .decodes_image = true, .carries = {}}},
       .terms = {{.name = "error", .weight = 2.0, .max_items = 3},
                 {.name = "likeness", .weight = 0.3, .max_items = 1}}}};
  info.inputs = {"images"};
  info.outputs = {"image"};
  const auto sample = [](const RowRange& rows) {
    Batch batch(rows);
    batch.Add("picture", Bytes(rows, 1));
    batch.Add("target", Bytes(rows, 2));
    batch.SetItems("error", at::full({rows.count}, 3, at::kLong));
    batch.SetItems("likeness", at::ones({rows.count}, at::kLong));
    return batch;
  };
  const auto run = [](const std::string& pass, PassContext& context) -> Sums {
    const std::string read = pass == "first" ? "picture" : pass == "second" ? "c1" : "c2";
    const at::Tensor image = context.Forward({context.Image(read)}, {"image"}).at("image");
    if (pass != "third") context.Carry(pass == "first" ? "c1" : "c2", image);
    Sums sums{{"error", (image - context.Pixels("target")).pow(2).sum()}};
    if (pass == "third") sums["likeness"] = (image - context.Carried("c1")).pow(2).sum();
    return sums;
  };
  return Fixture(std::move(info), {.sample = sample, .run = run});
}

std::map<std::string, std::int64_t> ForwardsOf(const Model& model, Fixture& task, const Batch& batch,
                                               const Execution& plan) {
  StepExecutor executor(model, at::kCPU);
  PassCounter counter;
  executor.Run({{task.task.get(), &batch, &plan}}, counter);
  ClearGradients(model);
  return counter.forwards;
}

TEST(TwoStage, GradientsEqualJointBitForBit) {
  for (const bool drops : {false, true}) {
    FixtureModel model;
    model.drops = drops;
    Fixture task = Chain();
    const Batch batch = task.Rows(17, 11);
    StepLosses expected, found;
    const Gradient joint = DrawGradient(model, task, batch, Mode::kJoint, 0, &expected);
    for (const int recompute_every : {0, 1, 2}) {
      EXPECT_TRUE(
          SameBits(DrawGradient(model, task, batch, Mode::kTwoStage, 0, &found, recompute_every), joint))
          << "recompute " << recompute_every << ", dropout " << drops;
      EXPECT_DOUBLE_EQ(WeightedLoss(found), WeightedLoss(expected));
    }
  }
}

TEST(TwoStage, AGraphOfCarriesGivesTheGradientOfJointInAnyMicroBatches) {
  for (const auto& [dtype, tolerance] : {std::pair{at::kDouble, 1e-12}, std::pair{at::kFloat, 5e-6}}) {
    for (const bool share : {false, true}) {
      FixtureModel model(share);
      model.To(at::kCPU, dtype);
      model.drops = true;
      for (Fixture (*make)() : {&Canvas, &Chain}) {
        Fixture task = make();
        const Batch batch = task.Rows(3, 13);
        const Gradient joint = DrawGradient(model, task, batch, Mode::kJoint);
        for (const std::int64_t micro_rows : {0, 1, 5}) {
          for (const int recompute_every : {0, 1, 2}) {
            EXPECT_LE(Distance(DrawGradient(model, task, batch, Mode::kTwoStage, micro_rows, nullptr,
                                            recompute_every),
                               joint),
                      tolerance)
                << task.info->name << ", micro rows " << micro_rows << ", recompute " << recompute_every;
          }
        }
      }
    }
  }
}

// The control: a carry that is only handed on as a value is another gradient.
TEST(TwoStage, DetachedCarriesWouldDiffer) {
  FixtureModel model;
  Fixture task = Chain();
  const Batch batch = task.Rows(17, 11);
  const Gradient joint = DrawGradient(model, task, batch, Mode::kJoint);
  Fixture detached = Chain();
  Script script;
  const auto run = [&](const std::string& pass, PassContext& context) {
    const std::string read = pass == "first" ? "picture" : pass == "second" ? "c1" : "c2";
    ModelInput input = context.Image(read);
    input.tensor = input.tensor.detach();
    const at::Tensor image = context.Forward({input}, {"image"}).at("image");
    if (pass != "third") context.Carry(pass == "first" ? "c1" : "c2", image);
    Sums sums{{"error", (image - context.Pixels("target")).pow(2).sum()}};
    if (pass == "third") sums["likeness"] = (image - context.Carried("c1").detach()).pow(2).sum();
    return sums;
  };
  Fixture cut(*detached.info,
              {.sample = [&](const RowRange& rows) { return detached.task->Sample(rows); }, .run = run});
  EXPECT_GT(Distance(DrawGradient(model, cut, batch, Mode::kJoint), joint), 1e-2);
}

TEST(TwoStage, RunsOneMoreForwardOfEachPassThatMakesACarry) {
  FixtureModel model;
  Fixture task = Canvas();
  const Batch batch = task.Rows(0, 4);
  EXPECT_EQ(ForwardsOf(model, task, batch, {.way = {Mode::kJoint}}).at("canvas"), 3);
  EXPECT_EQ(ForwardsOf(model, task, batch, {.way = {Mode::kTwoStage}}).at("canvas"), 3 + 2);
  EXPECT_EQ(ForwardsOf(model, task, batch, {.way = {Mode::kTwoStage}, .micro_rows = 2}).at("canvas"), 2 * 5);
  EXPECT_EQ(ForwardsOf(model, task, batch, {.way = {Mode::kTwoStage, 1}}).at("canvas"), 5);
}

TEST(TwoStage, AddsUpWithOtherDrawsOfAStep) {
  FixtureModel model;
  Fixture qa = Qa("qa", 3), canvas = Canvas();
  const Batch qa_rows = qa.Rows(3, 7), canvas_rows = canvas.Rows(0, 5), more_rows = canvas.Rows(5, 2);
  const Gradient expected = Sum(DrawGradient(model, qa, qa_rows, Mode::kJoint),
                                DrawGradient(model, canvas, canvas.Rows(0, 7), Mode::kJoint));
  const Execution sequential{.way = {.recomputed = 2}, .micro_rows = 2}, two{.way = {Mode::kTwoStage}},
      both{.way = {Mode::kTwoStage, 1}, .micro_rows = 1};
  StepExecutor executor(model, at::kCPU);
  executor.Run({{canvas.task.get(), &canvas_rows, &two},
                {qa.task.get(), &qa_rows, &sequential},
                {canvas.task.get(), &more_rows, &both}});
  EXPECT_LE(Distance(TakeGradient(model), expected), 1e-12);
}

TEST(TwoStage, AFrozenModelStillTrainsWhatIsNotFrozen) {
  FixtureModel model;
  for (const Parameter& parameter : model.parameters()) {
    at::Tensor(parameter.tensor).set_requires_grad(parameter.name == "encoder.weight");
  }
  Fixture task = Chain();
  const Batch batch = task.Rows(17, 4);
  EXPECT_TRUE(SameBits(DrawGradient(model, task, batch, Mode::kTwoStage),
                       DrawGradient(model, task, batch, Mode::kJoint)));
}

TEST(TwoStage, IsRefusedWhereNothingIsCarried) {
  FixtureModel model;
  Fixture task = Qa("qa", 2);
  const std::string message =
      MessageOf<InputError>([&] { DrawGradient(model, task, task.Rows(0, 2), Mode::kTwoStage); });
  EXPECT_TRUE(
      Says(message, {"tasks.qa.mode: ", "\"two_stage\"", "makes a carry", "\"joint\" or \"sequential\""}));
  EXPECT_EQ(model.encodings_made, 0);
}

TEST(TwoStage, LegalModesFollowFromTheSpec) {
  EXPECT_EQ(LegalModes(Canvas().task->variant()), (std::vector<Mode>{Mode::kJoint, Mode::kTwoStage}));
  EXPECT_EQ(LegalModes(Qa("qa", 2).task->variant()), (std::vector<Mode>{Mode::kJoint, Mode::kSequential}));
}

class TwoStageMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { InstallCpuAllocator(); }
  void TearDown() override { FailCpuAllocation(0); }
};

TEST_F(TwoStageMemory, PeaksLowerThanJoint) {
  FixtureModel model(false);
  Fixture task = Canvas();
  const Batch batch = task.Rows(0, 2000);
  const auto peak = [&](Mode mode, int recompute_every) {
    DrawGradient(model, task, batch, mode);
    const std::int64_t floor = ReadCpuMemory().now;
    ResetCpuPeak();
    DrawGradient(model, task, batch, mode, 0, nullptr, recompute_every);
    return static_cast<double>(ReadCpuMemory().peak - floor);
  };
  EXPECT_LT(peak(Mode::kTwoStage, 0), 0.8 * peak(Mode::kJoint, 0));
  EXPECT_LT(peak(Mode::kTwoStage, 1), peak(Mode::kTwoStage, 0));
}

TEST_F(TwoStageMemory, TheFloorStaysConstantWhateverTheMode) {
  FixtureModel model;
  model.drops = true;
  Fixture qa = Qa("qa", 4), canvas = Canvas();
  std::int64_t floor = 0;
  for (int step = 0; step < 60; ++step) {
    const int recompute_every = step % 3;
    DrawGradient(model, canvas, canvas.Rows(step * 3, 3), Mode::kTwoStage, step % 4, nullptr,
                 recompute_every);
    DrawGradient(model, qa, qa.Rows(step * 5, 5), step % 2 == 0 ? Mode::kSequential : Mode::kJoint, step % 5,
                 nullptr, recompute_every);
    model.seeds.clear();
    if (step < 3) floor = ReadCpuMemory().now;
    ASSERT_EQ(ReadCpuMemory().now, floor) << "step " << step;
  }
}

// Out of memory at every allocation, in the runs of layers that happen inside the backward too.
TEST_F(TwoStageMemory, RunningOutOfMemoryAnywhereLeavesNothing) {
  FixtureModel model;
  Fixture canvas = Canvas(), qa = Qa("qa", 3);
  for (const auto& [task, mode] : {std::pair{&canvas, Mode::kTwoStage}, std::pair{&canvas, Mode::kJoint},
                                   std::pair{&qa, Mode::kSequential}}) {
    for (const int recompute_every : {0, 1}) {
      const Batch batch = task->Rows(0, 4);
      const Execution plan{.way = {mode, recompute_every}, .micro_rows = 2};
      StepExecutor executor(model, at::kCPU);
      const auto step = [&] { return DrawGradient(executor, model, *task, batch, plan); };
      step();  // holds the task against its spec too
      const Gradient expected = step();
      model.seeds.clear();
      const std::int64_t floor = ReadCpuMemory().now;
      bool failed = true;
      int nth = 1;
      for (; failed; ++nth) {
        failed = false;
        FailCpuAllocation(nth);
        try {
          step();
        } catch (const c10::OutOfMemoryError&) {
          failed = true;
        }
        FailCpuAllocation(0);
        ClearGradients(model);
        DrainEngine();
        model.seeds.clear();
        ASSERT_EQ(ReadCpuMemory().now, floor) << "allocation " << nth;
      }
      EXPECT_GT(nth, 100);
      EXPECT_TRUE(SameBits(step(), expected));
    }
  }
}

}  // namespace
}  // namespace medley
