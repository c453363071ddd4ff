// Every task of the tree with the real agent in bf16.

#include <gtest/gtest.h>
#include <medley/testing/checks.h>

#include <set>
#include <string>

#include "tests/step/agent_fixture.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kHalfRows = 6;
const Execution kJoint{.way = {Mode::kJoint, 0}, .micro_rows = 0, .term_weights = {}};

class HalfModes : public ::testing::TestWithParam<TaskVariant> {
 protected:
  AgentWithTask loaded_{GetParam(), /*dropout=*/0, at::kBFloat16};
  Batch rows_ = loaded_.Rows(100, kHalfRows);
};

TEST_P(HalfModes, DoesWhatItsSpecSays) {
  EXPECT_EQ(check::Contract(loaded_.task, *loaded_.model), check::Findings());
}

// What passes share is rounded at other places than what each makes alone.
TEST_P(HalfModes, GradientsAreJointsButForRounding) {
  AgentWithTask in_float(GetParam());
  const Gradient joint = loaded_.GradientOf(rows_, kJoint), exact = in_float.GradientOf(rows_, kJoint);
  EXPECT_LT(Distance(joint, exact), 0.1);
  EXPECT_TRUE(SameBits(loaded_.GradientOf(rows_, kJoint), joint));
  for (const Mode mode : LegalModes(loaded_.task.variant())) {
    for (const std::int64_t micro_rows : {0, 1, 4}) {
      const Execution plan{.way = {mode, 0}, .micro_rows = micro_rows, .term_weights = {}},
          again{.way = {mode, 1}, .micro_rows = micro_rows, .term_weights = {}};
      const Gradient found = loaded_.GradientOf(rows_, plan);
      EXPECT_LT(Distance(found, joint), 0.05) << ModeName(mode) << ", " << micro_rows;
      EXPECT_TRUE(SameBits(loaded_.GradientOf(rows_, again), found)) << ModeName(mode) << ", " << micro_rows;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, HalfModes, ::testing::ValuesIn(test::Slice("HalfModes", AllVariants(), 8)),
                         [](const auto& info) { return NameOf(info.param); });

std::int64_t SavedBytes(const TaskVariant& what, at::ScalarType dtype, Mode mode) {
  AgentWithTask loaded(what, 0, dtype);
  SavedBytesMeter meter;
  loaded.Run(loaded.Rows(0, kHalfRows), {.way = {mode, 0}, .micro_rows = 0, .term_weights = {}}, meter);
  std::int64_t bytes = 0;
  for (const auto& [pass, runs] : meter.saved.at(what.task)) {
    for (const std::int64_t saved : runs) bytes += saved;
  }
  return bytes;
}

// A picture that lies over what was seen keeps three planes and an opacity, in float in both.
TEST(HalfBytes, SavedForTheBackwardAreAtMostTwoThirdsOfFloats) {
  for (const std::string task :
       {"control", "arrow_to_gold", "position_qa", "zoom_agent", "zoom_gold", "zoom_halfway"}) {
    const double most = task == "control" || task == "position_qa" ? 0.65 : 0.67;
    for (const Mode mode : {Mode::kJoint, Mode::kSequential}) {
      const TaskVariant what{task, "default"};
      const double ratio = static_cast<double>(SavedBytes(what, at::kBFloat16, mode)) /
                           static_cast<double>(SavedBytes(what, at::kFloat, mode));
      EXPECT_LE(ratio, most) << task << ", " << ModeName(mode);
    }
  }
}

}  // namespace
}  // namespace medley
