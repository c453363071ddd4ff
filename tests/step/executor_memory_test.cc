#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/contract/contract_check.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/meter.h>
#include <medley/model/parameter_bytes.h>
#include <medley/step/abandon.h>
#include <medley/step/passes/pass_runner.h>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

class ExecutorMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { InstallCpuAllocator(); }
  void TearDown() override { FailCpuAllocation(0); }
};

// Bytes in use once everything that lives for ever is there.
std::int64_t FloorAfterAStep(const Model& model, Fixture& task, const Batch& batch, Mode mode) {
  DrawGradient(model, task, batch, mode);
  return ReadCpuMemory().now;
}

TEST_F(ExecutorMemory, TheFloorStaysConstantToTheByte) {
  FixtureModel model;
  Fixture qa = Qa("qa", 4), canvas = Canvas();
  ContractCheck check(model, at::kCPU);
  std::int64_t floor = 0;
  for (int step = 0; step < 53; ++step) {
    DrawGradient(model, qa, qa.Rows(step * 5, 5), step % 2 == 0 ? Mode::kSequential : Mode::kJoint,
                 1 + step % 4);
    DrawGradient(model, canvas, canvas.Rows(step * 3, 3), Mode::kJoint, step % 3);
    check.Check(*qa.task, Fixture::Range(step));
    model.seeds.clear();
    if (step < 3) floor = ReadCpuMemory().now;
    ASSERT_EQ(ReadCpuMemory().now, floor) << "step " << step;
  }
}

// One pass in one forward peaks before its backward has made all gradients. What is told apart adds up: what
// was saved, and the gradients of that moment, and what else there was.
TEST_F(ExecutorMemory, AJointStepOfOnePassPeaksWithFewerGradientsThanItLeaves) {
  FixtureModel model;
  model.To(at::kCPU, at::kFloat);  // as the rows are
  Fixture task = Qa("qa", 1);
  const Batch batch = task.Rows(0, 12);
  const Execution plan{.way = {Mode::kJoint}};
  StepExecutor executor(model, at::kCPU);
  ContractCheck(model, at::kCPU).Check(*task.task, Fixture::Range(0));
  SavedBytesMeter passes;
  GradientsAtPeak gradients(model.parameters(), at::kCPU);
  StepMeter meter(
      at::kCPU, [] { return 0; }, &gradients);
  meter.BeginStep();
  meter.BeginDraw();
  executor.Run({{task.task.get(), &batch, &plan}}, passes);
  meter.EndDraw("qa");
  ASSERT_EQ(passes.saved.at("qa").at("q0").size(), 1U);
  const std::int64_t saved = passes.saved.at("qa").at("q0").front();
  const StepMemory step = meter.EndStep();
  const std::int64_t peak = step.after.peak - step.before.now, left = step.after.now - step.before.now;
  EXPECT_LT(step.gradients, left);
  EXPECT_GT(saved, 0);
  EXPECT_LE(saved + step.gradients, peak);
  EXPECT_GT(saved + left, peak) << "with all gradients it would not add up";
  ClearGradients(model);
}

TEST_F(ExecutorMemory, AForwardWithoutABackwardLeavesNothing) {
  FixtureModel model;
  Fixture task = Canvas();
  const Batch batch = task.Rows(0, 4);
  const std::int64_t floor = FloorAfterAStep(model, task, batch, Mode::kJoint);
  for (const auto& [mode, sharing] :
       {std::pair{Mode::kJoint, Sharing::kNode}, {Mode::kTwoStage, Sharing::kLeaf}}) {
    ASSERT_EQ(SharingOf(mode), sharing);
    MicroBatch micro({.task = *task.task, .model = model, .device = at::kCPU, .way = {mode}}, batch);
    for (const PassInfo& pass : task.task->variant().passes) micro.RunPass(pass);
    EXPECT_GT(ReadCpuMemory().now, floor);
  }
  EXPECT_EQ(ReadCpuMemory().now, floor);
}

TEST_F(ExecutorMemory, AThrowingPassLeavesNothing) {
  FixtureModel model;
  int passes_until_throw = 0;
  Fixture task(QaInfo("qa", 4), {.sample = [](const RowRange& rows) { return QaRows(rows, 4); },
                                 .run =
                                     [&](const std::string& pass, PassContext& context) {
                                       Sums sums = QaPass(pass, context);
                                       if (--passes_until_throw == 0) throw Error("a mistake in the task");
                                       return sums;
                                     }});
  const Batch batch = task.Rows(0, 4);
  for (const Mode mode : {Mode::kJoint, Mode::kSequential}) {
    passes_until_throw = 0;
    const std::int64_t floor = FloorAfterAStep(model, task, batch, mode);
    ContractCheck checked(model, at::kCPU);
    StepExecutor knows_it(model, at::kCPU, &checked);
    checked.Check(*task.task, Fixture::Range(0));
    for (int at = 1; at <= 8; ++at) {
      for (const bool known : {false, true}) {  // unknown: in the check where there is one, else in the step
        ContractCheck unchecked(model, at::kCPU);
        StepExecutor fresh(model, at::kCPU, &unchecked);
        const Execution plan{.way = {mode}, .micro_rows = 2};
        passes_until_throw = at;
        EXPECT_THROW(DrawGradient(known ? knows_it : fresh, model, task, batch, plan), Error);
        ClearGradients(model);
        DrainEngine();
        EXPECT_EQ(ReadCpuMemory().now, floor);
      }
    }
  }
}

// Out of memory at every allocation of a step: after clearing and draining the floor is back, and the next
// step is bit for bit what it would have been.
TEST_F(ExecutorMemory, RunningOutOfMemoryAnywhereLeavesNothing) {
  FixtureModel model;
  Fixture qa = Qa("qa", 3), canvas = Canvas();
  std::int64_t left_without_drain = 0;
  for (const auto& [task, mode] :
       {std::pair{&qa, Mode::kJoint}, std::pair{&qa, Mode::kSequential}, std::pair{&canvas, Mode::kJoint}}) {
    const Batch batch = task->Rows(0, 4);
    StepExecutor executor(model, at::kCPU);
    DrawGradient(executor, model, *task, batch, {.way = {mode}});  // builds the tables
    const Gradient expected = DrawGradient(executor, model, *task, batch, {.way = {mode}});
    model.seeds.clear();
    const std::int64_t floor = ReadCpuMemory().now;
    bool failed = true;
    int nth = 1;
    for (; failed; ++nth) {
      failed = false;
      FailCpuAllocation(nth);
      try {
        DrawGradient(executor, model, *task, batch, {.way = {mode}, .micro_rows = 2});
      } catch (const c10::OutOfMemoryError&) {
        failed = true;
      }
      FailCpuAllocation(0);
      ClearGradients(model);
      left_without_drain = std::max(left_without_drain, ReadCpuMemory().now - floor);
      DrainEngine();
      ASSERT_EQ(ReadCpuMemory().now, floor) << "allocation " << nth;
    }
    EXPECT_GT(nth, 100);
    const Gradient after = DrawGradient(executor, model, *task, batch, {.way = {mode}});
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(at::equal(after[i], expected[i]));
  }
  EXPECT_GT(left_without_drain, 0) << "the drain is not needed any more: take it out";
}

// A check takes thousands of allocations: of the later ones some are tried. One that fails while a later row
// is sampled only shortens the check.
TEST_F(ExecutorMemory, RunningOutOfMemoryInACheckLeavesNothing) {
  FixtureModel model;
  Fixture qa = Qa("qa", 3), canvas = Canvas();
  for (Fixture* task : {&qa, &canvas}) {
    ContractCheck(model, at::kCPU).Check(*task->task, Fixture::Range(0));  // builds the tables
    const std::int64_t floor = ReadCpuMemory().now;
    std::int64_t nth = 1;
    for (bool failed = true; failed; nth += 1 + nth / 16) {
      ContractCheck fresh(model, at::kCPU);
      const std::int64_t ooms = ReadCpuMemory().ooms;
      FailCpuAllocation(nth);
      try {
        fresh.Check(*task->task, Fixture::Range(0));
      } catch (const c10::OutOfMemoryError&) {
        EXPECT_FALSE(fresh.Knows(*task->task));
      }
      FailCpuAllocation(0);
      failed = ReadCpuMemory().ooms > ooms;
      ASSERT_EQ(ReadCpuMemory().now, floor) << "allocation " << nth;
    }
    EXPECT_GT(nth, 100);
  }
}

std::int64_t PeakOf(const Model& model, Fixture& task, const Batch& batch, Mode mode) {
  const std::int64_t floor = FloorAfterAStep(model, task, batch, mode);
  ResetCpuPeak();
  DrawGradient(model, task, batch, mode);
  return ReadCpuMemory().peak - floor;
}

// All passes ask the same, so that the first alone is as heavy as any of the five.
Fixture SameQuestions(int passes) {
  return Fixture(QaInfo("qa", passes),
                 {.sample = [passes](const RowRange& rows) { return QaRows(rows, passes); },
                  .run = [](const std::string&, PassContext& context) { return QaPass("q0", context); }});
}

TEST_F(ExecutorMemory, FiveSequentialPassesPeakLikeOneAndTheGradients) {
  constexpr std::int64_t kRows = 2000;
  for (const bool share : {false, true}) {
    FixtureModel model(share);
    const std::int64_t gradients = ParameterBytes(model.parameters());
    Fixture five = SameQuestions(5), one = SameQuestions(1);
    const Batch five_rows = five.Rows(0, kRows), one_row = one.Rows(0, kRows);
    const std::int64_t alone = PeakOf(model, one, one_row, Mode::kJoint);
    const std::int64_t sequential = PeakOf(model, five, five_rows, Mode::kSequential);
    // A shared encoding waits with its gradient, [rows, kHidden] in float64.
    const std::int64_t waiting = share ? kRows * kHidden * 8 : 0;
    EXPECT_LE(sequential, 1.01 * static_cast<double>(alone + gradients + waiting)) << "shared " << share;
    EXPECT_GT(PeakOf(model, five, five_rows, Mode::kJoint), 2 * sequential) << "shared " << share;
  }
}

}  // namespace
}  // namespace medley
