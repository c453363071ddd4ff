// The agent with dropout: every way to execute a draw drops the same numbers. (The same of a small model:
// executor_modes_test.cc, two_stage_test.cc.)

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/step/agent_fixture.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kDropoutRows = 5;
constexpr double kDropout = 0.3;

// Questions whose passes share a picture; pictures that are carried, in a chain and beside each other.
class DropoutModes : public ::testing::TestWithParam<TaskVariant> {};

TEST_P(DropoutModes, AllGiveTheGradientOfJointInAnyMicroBatchAndRecomputed) {
  AgentWithTask loaded(GetParam(), kDropout);
  loaded.model->To(at::kCPU, at::kDouble);
  const Batch rows = loaded.Rows(100, kDropoutRows);
  const Gradient joint = loaded.GradientOf(rows, {.way = {Mode::kJoint}});
  EXPECT_TRUE(SameBits(loaded.GradientOf(rows, {.way = {Mode::kJoint}}), joint));
  for (const Mode mode : LegalModes(loaded.task.variant())) {
    for (const std::int64_t micro_rows : {0, 1, 2}) {
      for (const int every : {0, 1, 2}) {
        const Gradient found = loaded.GradientOf(rows, {.way = {mode, every}, .micro_rows = micro_rows});
        EXPECT_LE(Distance(found, joint), 1e-12)
            << ModeName(mode) << ", micro rows " << micro_rows << ", recompute every " << every;
      }
    }
  }
}

TEST_P(DropoutModes, IsAnotherGradientThanWithout) {
  std::vector<Gradient> gradients;
  for (const double dropout : {0.0, 0.1, kDropout}) {
    AgentWithTask loaded(GetParam(), dropout);
    gradients.push_back(loaded.GradientOf(loaded.Rows(100, kDropoutRows), {.way = {Mode::kJoint}}));
  }
  EXPECT_GT(Distance(gradients[1], gradients[0]), 1e-3);
  EXPECT_GT(Distance(gradients[2], gradients[1]), 1e-3);
}

// Also of keys and values that passes share in one mode, and make on their own in another.
TEST_P(DropoutModes, OfAdaptersIsTheSameInAllModesToo) {
  LoraConfig lora{
      .rank = 4, .alpha = 8, .dropout = kDropout, .targets = {.names = {}, .pattern = kAllLinear}};
  lora.tokens = {9};
  AgentWithTask loaded(GetParam(), /*dropout=*/0, at::kFloat, /*qwen2=*/false, lora);
  loaded.model->To(at::kCPU, at::kDouble);
  for (const Parameter& parameter : loaded.model->parameters()) {
    if (parameter.name.ends_with(kLoraB)) at::Tensor(parameter.tensor.detach()).fill_(0.05);
  }
  const Batch rows = loaded.Rows(100, kDropoutRows);
  const Gradient joint = loaded.GradientOf(rows, {.way = {Mode::kJoint}});
  for (const Mode mode : LegalModes(loaded.task.variant())) {
    for (const auto& [micro_rows, every] : {std::pair{0, 0}, {2, 0}, {0, 1}, {1, 2}}) {
      const Gradient found = loaded.GradientOf(rows, {.way = {mode, every}, .micro_rows = micro_rows});
      EXPECT_LE(Distance(found, joint), 1e-12)
          << ModeName(mode) << ", micro rows " << micro_rows << ", recompute every " << every;
    }
  }
  lora.dropout = 0.1;
  AgentWithTask other(GetParam(), /*dropout=*/0, at::kFloat, /*qwen2=*/false, lora);
  other.model->To(at::kCPU, at::kDouble);
  EXPECT_GT(Distance(other.GradientOf(rows, {.way = {Mode::kJoint}}), joint), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Tasks, DropoutModes,
                         ::testing::ValuesIn(test::Slice<TaskVariant>("DropoutModes",
                                                                      {{"position_qa", "default"},
                                                                       {"zoom_gold", "fused"},
                                                                       {"arrow_to_gold", "carry"},
                                                                       {"mem_canvas", "default"}},
                                                                      2)),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace medley
