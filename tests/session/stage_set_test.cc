// Stages that change the settings of tasks, as a person runs them.
#include <gtest/gtest.h>

#include "tests/session/session_runs.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::Has;

class StageSet : public ::testing::Test {
 protected:
  StageSet() { WriteText(weights(), test::kStagedWeights); }

  fs::path weights() const { return scratch_ / "weights.json"; }
  Ended Train(const std::string& name, const std::string& more) const {
    return test::TrainToTheEnd(
        test::RequestOf("quickstart.json",
                        "tensorboard=false " + (test::kStaged + weights().string()) + " " + more),
        scratch_ / name);
  }
  std::map<std::string, std::string> EndState(const std::string& name) const {
    return test::EndState(scratch_ / name);
  }

  ScratchDirectory scratch_;
};

TEST_F(StageSet, GivesEqualBytesWithAnyDataThreadsAndAfterAnyResume) {
  const std::string plain = "plan=false data.threads=0";
  const Ended whole = Train("whole", plain);
  ASSERT_EQ(whole.code, ExitCode::kDone) << whole.out;
  EXPECT_TRUE(Has(whole.out, "stage b begins")) << whole.out;
  const auto expected = EndState("whole");
  const Ended ahead = Train("ahead", "plan=false data.threads=4 data.ahead=16");
  ASSERT_EQ(ahead.code, ExitCode::kDone) << ahead.out;
  EXPECT_EQ(EndState("ahead"), expected);
  for (const std::int64_t step : {3, 4, 5, 8, 9, 10}) {
    const fs::path part = scratch_ / "part";
    fs::copy(scratch_ / "whole", part, fs::copy_options::recursive);
    for (const CheckpointEntry& entry : ListCheckpoints(part)) {
      if (entry.step > step) fs::remove_all(entry.path);
    }
    const Ended resumed = test::ResumeToTheEnd(part);
    ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_EQ(EndState("part"), expected) << "resumed after step " << step;
    fs::remove_all(part);
  }
}

TEST_F(StageSet, ThatDoesNotFitIsRefusedBeforeTheFirstStep) {
  std::string text = test::kStagedWeights;
  text.replace(text.find("\"tasks.arrow_to_gold.rows\": 3"), 29,
               "\"tasks.arrow_to_gold.rows\": 512, \"tasks.arrow_to_gold.micro_rows\": 512");
  WriteText(weights(), text);
  const Ended trained = Train("run", "budget=600MiB");
  EXPECT_EQ(trained.code, ExitCode::kDoesNotFit) << trained.out;
  EXPECT_TRUE(Has(trained.out, "task arrow_to_gold@")) << trained.out;
  EXPECT_TRUE(Has(trained.out, "stage set tasks.arrow_to_gold.micro_rows=")) << trained.out;
  EXPECT_FALSE(fs::exists(scratch_ / "run"));
}

}  // namespace
}  // namespace medley
