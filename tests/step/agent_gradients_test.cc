// Every task of the tree with the real agent: each legal mode and micro-batch gives the gradient of joint.

#include <gtest/gtest.h>
#include <medley/testing/checks.h>

#include "tests/step/agent_fixture.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::int64_t kGradientRows = 13;

class AgentGradients : public ::testing::TestWithParam<TaskVariant> {
 protected:
  AgentWithTask loaded_{GetParam()};
};
class AgentContract : public AgentGradients {};  // cheap enough for all

TEST_P(AgentContract, DoesWhatItsSpecSays) {
  EXPECT_EQ(check::Contract(loaded_.task, *loaded_.model), check::Findings());
}

INSTANTIATE_TEST_SUITE_P(AllTasks, AgentContract, ::testing::ValuesIn(AllVariants()),
                         [](const auto& info) { return NameOf(info.param); });

// In float a tenth of the bound (3e-7) was measured.
TEST_P(AgentGradients, EveryModeAndMicroBatchEqualsJoint) {
  EXPECT_EQ(check::Gradients(loaded_.task, *loaded_.model,
                             {.rows = kGradientRows, .micro_rows = {1, 5, kGradientRows}, .recomputed = {}}),
            check::Findings());
}

INSTANTIATE_TEST_SUITE_P(AllTasks, AgentGradients,
                         ::testing::ValuesIn(test::Slice("AgentGradients", AllVariants(), 8)),
                         [](const auto& info) { return NameOf(info.param); });

// Without plugins there would be nothing above to fail.
TEST(AgentGradientTasks, AreAllOfTheTreeAndNoneIsRejected) {
  EXPECT_GE(SharedRegistry().tasks().size(), 24U);
  for (const RejectedPlugin& rejected : SharedRegistry().rejected()) {
    ADD_FAILURE() << rejected.path << ": " << rejected.reason;
  }
}

}  // namespace
}  // namespace medley
