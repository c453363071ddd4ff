// Every task of the tree with the real agent: each legal mode and micro-batch gives the gradient of joint.

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "tests/step/agent_fixture.h"
#include "tests/step/positive_relus.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kRows = 13;

class AgentGradients : public testing::TestWithParam<TaskVariant> {
 protected:
  std::pair<Gradient, std::int64_t> CountedGradientOf(const Batch& rows, Mode mode, std::int64_t micro_rows) {
    const PositiveRelus relus;
    const Gradient gradient = loaded_.GradientOf(rows, {.way = {mode}, .micro_rows = micro_rows});
    return {gradient, relus.count()};
  }
  std::vector<Mode> LegalModes() const {
    std::vector<Mode> modes{Mode::kJoint};
    if (!loaded_.task.variant().Carries()) modes.push_back(Mode::kSequential);
    return modes;
  }

  AgentWithTask loaded_{GetParam()};
};

TEST_P(AgentGradients, DoesWhatItsSpecSays) {
  EXPECT_NO_THROW(loaded_.executor.contract().Check(loaded_.task, loaded_.Rows(100, 1).rows()));
}

// Where a ReLU's input is a rounding error away from 0, the rows of a forward decide on which side of its
// kink it falls, and one unit of one patch joins or leaves the gradient: in float up to 1e-4 of it, and no
// mistake. Of a million ReLUs that happens to one in a draw or two of ten, so such draws give way to the next
// one. All others keep the bound, with a tenth of it (3e-7) measured.
TEST_P(AgentGradients, EveryModeAndMicroBatchEqualsJoint) {
  for (const auto& [dtype, tolerance] : {std::pair{at::kDouble, 1e-12}, std::pair{at::kFloat, 5e-6}}) {
    loaded_.model->To(at::kCPU, dtype);
    std::set<std::pair<Mode, std::int64_t>> open;
    for (const Mode mode : LegalModes()) {
      for (const std::int64_t micro_rows : {1, 5, 13}) open.emplace(mode, micro_rows);
    }
    for (const std::int64_t begin : {100, 1000, 10000, 20000}) {
      if (open.empty()) break;
      const Batch rows = loaded_.Rows(begin, kRows);
      const auto [joint, positive] = CountedGradientOf(rows, Mode::kJoint, 0);
      ASSERT_GT(positive, 0);
      for (const auto& [mode, micro_rows] : std::set(open)) {
        const auto [gradient, positive_now] = CountedGradientOf(rows, mode, micro_rows);
        if (positive_now != positive) continue;
        EXPECT_LE(Distance(gradient, joint), tolerance)
            << (mode == Mode::kJoint ? "joint, " : "sequential, ") << micro_rows << " rows, from " << begin;
        open.erase({mode, micro_rows});
      }
    }
    EXPECT_TRUE(open.empty()) << "no draw without a ReLU that changed sides";
  }
}

INSTANTIATE_TEST_SUITE_P(AllTasks, AgentGradients, testing::ValuesIn(AllVariants()),
                         [](const auto& info) { return NameOf(info.param); });

// Without plugins there would be nothing above to fail.
TEST(AgentGradientTasks, AreAllOfTheTreeAndNoneIsRejected) {
  EXPECT_EQ(SharedRegistry().tasks().size(), 22U);
  for (const RejectedPlugin& rejected : SharedRegistry().rejected()) {
    ADD_FAILURE() << rejected.path << ": " << rejected.reason;
  }
}

}  // namespace
}  // namespace medley
