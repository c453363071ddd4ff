// Every task of the tree, in every variant, with the real agent: two-stage and recomputation, alone and with
// micro-batches, give the gradient of joint. (Sequential and more micro-batches: agent_gradients_test.cc.)

#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/parameter_bytes.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/step/agent_fixture.h"
#include "tests/step/positive_relus.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kRows = 2;

struct Pieces {
  Mode mode = Mode::kJoint;
  std::int64_t micro_rows = 0;
};
std::ostream& operator<<(std::ostream& out, const Pieces& pieces) {
  return out << ModeName(pieces.mode) << ", micro rows " << pieces.micro_rows;
}

class AllModes : public testing::TestWithParam<TaskVariant> {
 protected:
  std::vector<Pieces> Ways() const {
    std::vector<Pieces> ways;
    for (const Mode mode : LegalModes(loaded_.task.variant())) {
      ways.push_back({mode, 0});
      ways.push_back({mode, 1});
    }
    return ways;
  }
  // Gradients of all ways, joint with all rows first, and how many ReLUs let their input through in each.
  struct Result {
    std::vector<Gradient> gradients;
    std::vector<std::int64_t> positive;
  };
  Result RunAll(const Batch& rows) {
    Result result;
    for (const Pieces& way : Ways()) {
      const PositiveRelus relus;
      result.gradients.push_back(loaded_.GradientOf(rows, {.way = {way.mode}, .micro_rows = way.micro_rows}));
      result.positive.push_back(relus.count());
    }
    return result;
  }
  void ExpectRecomputedBits(const Batch& rows, const Result& plain) {
    for (std::size_t i = 0; i < Ways().size(); ++i) {
      const Pieces way = Ways()[i];
      for (const int every : {1, 2}) {
        const Gradient recomputed =
            loaded_.GradientOf(rows, {.way = {way.mode, every}, .micro_rows = way.micro_rows});
        EXPECT_TRUE(SameBits(recomputed, plain.gradients[i])) << way << ", recompute every " << every;
      }
    }
  }

  AgentWithTask loaded_{GetParam()};
};

TEST_P(AllModes, InDoubleGradientsEqualJointAndThoseOfRecomputedLayersBitForBit) {
  loaded_.model->To(at::kCPU, at::kDouble);
  const Batch rows = loaded_.Rows(100, kRows);
  const Result result = RunAll(rows);
  for (std::size_t i = 0; i < Ways().size(); ++i)
    EXPECT_LE(Distance(result.gradients[i], result.gradients[0]), 1e-12) << Ways()[i];
  ExpectRecomputedBits(rows, result);
}

// A ReLU whose input is a rounding error away from 0 may fall on either side of its kink, which in float
// moves the gradient by up to 1e-4 and is no mistake. So float is judged by rows for which every ReLU falls
// where it does in double.
TEST_P(AllModes, InFloatGradientsEqualJointAndThoseOfRecomputedLayersBitForBit) {
  for (std::int64_t begin = 100; begin < 200; begin += 10) {
    const Batch rows = loaded_.Rows(begin, kRows);
    loaded_.model->To(at::kCPU, at::kDouble);
    const std::vector<std::int64_t> exact = RunAll(rows).positive;
    loaded_.model->To(at::kCPU, at::kFloat);
    const Result result = RunAll(rows);
    ASSERT_GT(exact.front(), 0);
    if (result.positive != exact) continue;
    for (std::size_t i = 0; i < Ways().size(); ++i)
      EXPECT_LE(Distance(result.gradients[i], result.gradients[0]), 5e-6) << Ways()[i];
    ExpectRecomputedBits(rows, result);
    return;
  }
  FAIL() << "no rows for which every ReLU falls where it does in double";
}

INSTANTIATE_TEST_SUITE_P(Tasks, AllModes, testing::ValuesIn(AllVariants()),
                         [](const auto& info) { return NameOf(info.param); });

// Before the first tensor of the program.
const bool kInstalled = (InstallCpuAllocator(), true);

class AgentMemory : public testing::Test {
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
    EXPECT_LT(static_cast<double>(layers), 0.6 * static_cast<double>(joint)) << name;
    EXPECT_LT(both, two) << name;
  }
}

}  // namespace
}  // namespace medley
