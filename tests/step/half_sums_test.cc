// What a model in bf16 adds up between backward calls.

#include <gtest/gtest.h>
#include <medley/config/mode.h>
#include <medley/update/optimizer.h>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kSummedRows = 150;

// Of a draw with a backward for each pass of each row. The sums alone are of the type.
Gradient SummedIn(at::ScalarType type, Mode mode) {
  FixtureModel model;
  model.To(at::kCPU, at::kBFloat16);
  for (const Parameter& parameter : model.parameters()) parameter.tensor.set_grad_dtype(type);
  Fixture task = Qa("qa", 3);
  return DrawGradient(model, task, task.Rows(0, kSummedRows), mode, /*micro_rows=*/1);
}

TEST(HalfSums, AreThoseOfManyBackwardsWhereTheyAreInFloat) {
  for (const Mode mode : {Mode::kJoint, Mode::kSequential}) {
    const Gradient exact = SummedIn(at::kDouble, mode);
    EXPECT_LT(Distance(SummedIn(at::kFloat, mode), exact), 1e-6);
    EXPECT_GT(Distance(SummedIn(at::kBFloat16, mode), exact), 5e-3);  // what they are in float for
  }
}

TEST(HalfSums, AreInFloatForAModelThatIsTrained) {
  FixtureModel model;
  model.To(at::kCPU, at::kBFloat16);
  const Optimizer optimizer(model, {});
  Fixture task = Qa("qa", 3);
  const Batch rows = task.Rows(0, kSummedRows);
  StepExecutor executor(model, at::kCPU);
  const Execution plan{.way = {Mode::kSequential, 0}, .micro_rows = 1};
  executor.Run({{.task = task.task.get(), .batch = &rows, .execution = &plan}});
  for (const Parameter& parameter : model.parameters()) {
    const at::Tensor& gradient = parameter.tensor.grad();
    EXPECT_TRUE(!gradient.defined() || gradient.scalar_type() == at::kFloat) << parameter.name;
  }
  EXPECT_EQ(SameBits(TakeGradient(model), SummedIn(at::kFloat, Mode::kSequential)), true);
}

// Those of two draws of a step too.
TEST(HalfSums, OfTwoDrawsAreTheSumOfTheirs) {
  FixtureModel model;
  model.To(at::kCPU, at::kBFloat16);
  const Optimizer optimizer(model, {});
  Fixture one = Qa("one", 1), two = Qa("two", 2);
  const Batch first = one.Rows(0, 8), second = two.Rows(0, 5);
  const Execution plan{.way = {Mode::kSequential, 0}, .micro_rows = 2};
  const Gradient apart = Sum(DrawGradient(model, one, first, Mode::kSequential, 2),
                             DrawGradient(model, two, second, Mode::kSequential, 2));
  StepExecutor executor(model, at::kCPU);
  executor.Run({{.task = one.task.get(), .batch = &first, .execution = &plan},
                {.task = two.task.get(), .batch = &second, .execution = &plan}});
  EXPECT_LT(Distance(TakeGradient(model), apart), 1e-6);
}

TEST(HalfSums, TwoRunsAreEqualBitForBit) {
  for (const Mode mode : {Mode::kJoint, Mode::kSequential})
    EXPECT_TRUE(SameBits(SummedIn(at::kFloat, mode), SummedIn(at::kFloat, mode)));
}

}  // namespace
}  // namespace medley
