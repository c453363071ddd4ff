// Every task of the tree, in every variant, with the real agent: two-stage and recomputation, alone and with
// micro-batches, give the gradient of joint. (Sequential and more micro-batches: agent_gradients_test.cc.)

#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_bytes.h>
#include <medley/testing/checks.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/step/agent_fixture.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kModeRows = 2;

class AllModes : public ::testing::TestWithParam<TaskVariant> {
 protected:
  AgentWithTask loaded_{GetParam()};
};

TEST_P(AllModes, GradientsEqualJointAndThoseOfRecomputedLayersBitForBit) {
  EXPECT_EQ(check::Gradients(loaded_.task, *loaded_.model,
                             {.rows = kModeRows, .micro_rows = {0, 1}, .recomputed = {1, {2, 3}}}),
            check::Findings());
}

INSTANTIATE_TEST_SUITE_P(Tasks, AllModes, ::testing::ValuesIn(test::Slice("AllModes", AllVariants(), 8)),
                         [](const auto& info) { return NameOf(info.param); });

// Before the first tensor of the program.
const bool kInstalled = (InstallCpuAllocator(), true);

class AgentMemory : public ::testing::Test {
 protected:
  static std::int64_t Peak(AgentWithTask& loaded, const Batch& rows, const Execution& plan) {
    EXPECT_TRUE(kInstalled);
    loaded.GradientOf(rows, plan);
    const std::int64_t floor = ReadCpuMemory().now;
    ResetCpuPeak();
    loaded.executor.Run({{.task = &loaded.task, .batch = &rows, .execution = &plan}});
    const std::int64_t peak = ReadCpuMemory().peak - floor;
    ClearGradients(*loaded.model);
    EXPECT_EQ(ReadCpuMemory().now, floor);
    return peak;
  }
};

// position_qa as it is against the heaviest of its passes as a task of its own.
class OnePass final : public Task {
 public:
  OnePass(LoadedTask& task, std::string pass) : task_(task), pass_(std::move(pass)) {}
  Batch Sample(const RowRange& rows) const override { return task_.Sample(rows); }
  Sums Run(std::string_view, PassContext& context) const override { return task_.Run(pass_, context); }
  Outcomes Evaluate(EvalContext&, const RowRange&) const override { return {}; }
  at::Tensor Constant(std::string_view name) const override { return task_.Constant(name, at::kCPU); }

 private:
  LoadedTask& task_;
  std::string pass_;
};

TEST_F(AgentMemory, SequentialPassesPeakLikeTheHeaviestAndTheGradientsAndRepeatNoForward) {
  AgentWithTask loaded({"position_qa", "default"});
  const Batch rows = loaded.Rows(0, 16);
  std::int64_t heaviest = 0;
  for (const PassInfo& pass : loaded.task.variant().passes) {
    TaskInfo info = loaded.task.info();
    info.variants = {{.name = "default", .passes = {pass}, .terms = loaded.task.variant().terms}};
    LoadedTask alone(info, info.variants.front(), "test", std::make_unique<OnePass>(loaded.task, pass.name));
    const Execution joint{.way = {Mode::kJoint}};
    loaded.executor.Run({{.task = &alone, .batch = &rows, .execution = &joint}});
    ClearGradients(*loaded.model);
    const std::int64_t floor = ReadCpuMemory().now;
    ResetCpuPeak();
    loaded.executor.Run({{.task = &alone, .batch = &rows, .execution = &joint}});
    heaviest = std::max(heaviest, ReadCpuMemory().peak - floor);
    ClearGradients(*loaded.model);
  }
  const std::int64_t gradients = ParameterBytes(loaded.model->parameters());
  const std::int64_t sequential = Peak(loaded, rows, {.way = {Mode::kSequential}});
  EXPECT_LE(static_cast<double>(sequential), 1.01 * static_cast<double>(heaviest + gradients));
  EXPECT_GT(Peak(loaded, rows, {.way = {Mode::kJoint}}), sequential + sequential / 2);
  PassCounter counter;
  for (int step = 0; step < 2; ++step) loaded.Run(rows, {.way = {Mode::kSequential}}, counter);
  ClearGradients(*loaded.model);
  EXPECT_EQ(counter.forwards.at("position_qa"), 2 * 5);
}

// What a planner may rely on: gradients are there once, and added to in place.
TEST_F(AgentMemory, LaterMicroBatchesAddTheGradientsAtMost) {
  for (const char* name : {"position_qa", "mem_canvas"}) {
    AgentWithTask loaded({name, "default"});
    const Batch rows = loaded.Rows(0, 6);
    const std::int64_t gradients = ParameterBytes(loaded.model->parameters());
    for (const Mode mode : LegalModes(loaded.task.variant())) {
      for (const int every : {0, 1}) {
        const Execution plan{.way = {mode, every}, .micro_rows = 2};
        std::int64_t alone = 0;
        for (const int begin : {0, 2, 4}) alone = std::max(alone, Peak(loaded, rows.Slice(begin, 2), plan));
        const std::int64_t all = Peak(loaded, rows, plan);
        // Besides, the slices' item rows: a few bytes a row.
        EXPECT_LE(all, alone + gradients + 4096) << name << ", " << ModeName(mode) << ", " << every;
      }
    }
  }
}

TEST_F(AgentMemory, TwoStageAndRecomputationLowerThePeak) {
  for (const char* name : {"arrow_to_gold", "mem_canvas"}) {
    AgentWithTask loaded({name, name == std::string("mem_canvas") ? "default" : "carry"});
    const Batch rows = loaded.Rows(0, 8);
    const std::int64_t joint = Peak(loaded, rows, {.way = {Mode::kJoint}});
    const std::int64_t two = Peak(loaded, rows, {.way = {Mode::kTwoStage}});
    const std::int64_t both = Peak(loaded, rows, {.way = {Mode::kTwoStage, 1}});
    const std::int64_t layers = Peak(loaded, rows, {.way = {Mode::kJoint, 1}});
    EXPECT_LT(static_cast<double>(two), 0.8 * static_cast<double>(joint)) << name;
    // Beside layers stands a picture over what was seen, which is not made again.
    EXPECT_LT(static_cast<double>(layers), 0.67 * static_cast<double>(joint)) << name;
    EXPECT_LT(both, two) << name;
  }
}

}  // namespace
}  // namespace medley
