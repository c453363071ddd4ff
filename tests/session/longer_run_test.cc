// A run that is to go beyond the end of its decay.
#include <medley/session/longer_run.h>

#include <gtest/gtest.h>
#include <medley/report/table.h>

#include <sstream>

#include "tests/session/session_runs.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::EndState;
using test::Has;
using test::SilentConsole;

// Runs of one task. Of 10 steps the rate falls behind the 7th, of 20 behind the 14th.
class LongerRun : public ::testing::Test {
 protected:
  LongerRun() { WriteText(scratch_ / "weights.json", test::kOneTaskWeights); }

  BeginRequest Request(const std::string& more) const {
    return test::RequestOf("quickstart.json", test::kOneTask + (scratch_ / "weights.json").string() +
                                                  " checkpoint.every=0 checkpoint.keep=1 " + more);
  }
  Ended Train(const fs::path& run, const std::string& more) const {
    return test::TrainToTheEnd(Request(more), run);
  }
  static std::vector<std::int64_t> Steps(const fs::path& run) {
    std::vector<std::int64_t> steps;
    for (const CheckpointEntry& entry : ListCheckpoints(run)) steps.push_back(entry.step);
    return steps;
  }
  using ListOfSteps = std::vector<std::int64_t>;

  ScratchDirectory scratch_;
  const fs::path run_ = scratch_ / "run";
};

TEST_F(LongerRun, EndsInTheBitsOfTheOneThatWasAskedForAsMuchFromTheStart) {
  const std::string more =
      " optimizer.warmup_steps=9 optimizer.average=0.9 optimizer.moments=8bit optimizer.final_scale=0.5";
  ASSERT_EQ(Train(run_, "steps=10" + more).code, ExitCode::kDone);
  EXPECT_EQ(Steps(run_), (ListOfSteps{10, 7})) << "beside the one that is kept";
  const Ended longer = test::ResumeToTheEnd(run_, "steps=20");
  EXPECT_EQ(longer.code, ExitCode::kDone) << longer.out;
  EXPECT_TRUE(Has(longer.out,
                  "goes on from step 7, behind which the learning rate fell, and not from step 10: "
                  "steps 8 to 10 are trained anew"))
      << longer.out;
  EXPECT_TRUE(
      Has(longer.out, "steps: 10 -> 20; the learning rate is a function of them, and goes on as it was"))
      << longer.out;
  EXPECT_EQ(Steps(run_), (ListOfSteps{20, 14})) << "of two decays, that of the later";
  EXPECT_EQ(VerifyCheckpoint(run_ / "newer-step-00000010").step, 10) << "what had decayed stays";
  ASSERT_EQ(Train(scratch_ / "whole", "steps=20" + more).code, ExitCode::kDone);
  EXPECT_EQ(EndState(run_), EndState(scratch_ / "whole"));
  const Ended replayed = test::ReplayToTheEnd(run_, Request("steps=10" + more), scratch_ / "again");
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(EndState(scratch_ / "again").at("metrics"), EndState(run_).at("metrics"));
}

TEST_F(LongerRun, GoesOnFromAnyOtherCheckpointThatIsNamed) {
  const Ended trained = Train(run_, "steps=10 checkpoint.every=1");
  EXPECT_TRUE(Has(trained.out, "the learning rate falls from here on: step 7 is kept")) << trained.out;
  EXPECT_TRUE(Has(trained.out, "; kept are the newest 1 and the one behind which the learning rate falls"))
      << trained.out;
  EXPECT_EQ(Steps(run_), (ListOfSteps{10, 7})) << "however many come behind it";
  const Ended longer = test::ResumeToTheEnd(run_, ResumeRequest{.overrides = {"steps=20"}, .from = 10});
  EXPECT_EQ(longer.code, ExitCode::kDone) << longer.out;
  EXPECT_TRUE(Has(longer.out, "restored step 10 ")) << longer.out;
  std::vector<double> rates;
  std::istringstream lines(ReadText(run_ / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) rates.push_back(nlohmann::json::parse(line).at("lr"));
  ASSERT_EQ(rates.size(), 20U);
  EXPECT_GT(rates[10], 2 * rates[9]);
  EXPECT_TRUE(
      Has(longer.out, "steps: 10 -> 20; the learning rate is a function of them: that of step 11 is " +
                          FormatNumber(rates[10] / rates[9]) + " times that of step 10\n"))
      << longer.out;
  // The replay has no --from, and goes the same way.
  const Ended replayed =
      test::ReplayToTheEnd(run_, Request("steps=10 checkpoint.every=1"), scratch_ / "again");
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(EndState(scratch_ / "again").at("metrics"), EndState(run_).at("metrics"));
}

// In the middle of its decay; and a resume that asks for no more goes on in it, and still knows what to keep.
TEST_F(LongerRun, OfWhichAPartHasDecayedGoesOnFromBeforeItOnlyForMore) {
  {
    SilentConsole console;
    Session session = Session::Begin(Request("steps=10"), run_, *console);
    session.Train(9);
  }
  fs::copy(run_, scratch_ / "more", fs::copy_options::recursive);
  const Ended same = test::ResumeToTheEnd(run_);
  EXPECT_TRUE(Has(same.out, "restored step 9 ")) << same.out;
  EXPECT_EQ(Steps(run_), (ListOfSteps{10, 7}));
  const Ended more = test::ResumeToTheEnd(scratch_ / "more", "steps=20");
  EXPECT_TRUE(Has(more.out, "restored step 7 ")) << more.out;
}

TEST_F(LongerRun, WithoutAWholeCheckpointOfBeforeGoesOnFromItsEndAndSaysSo) {
  ASSERT_EQ(Train(run_, "steps=10").code, ExitCode::kDone);
  const fs::path before = run_ / CheckpointName(7);
  for (const bool damaged : {true, false}) {
    const fs::path run = scratch_ / (damaged ? "damaged" : "gone");
    fs::copy(run_, run, fs::copy_options::recursive);
    damaged ? WriteText(run / CheckpointName(7) / "model.safetensors", "x")
            : static_cast<void>(fs::remove_all(run / CheckpointName(7)));
    const Ended longer = test::ResumeToTheEnd(run, "steps=12");
    EXPECT_EQ(longer.code, ExitCode::kDone) << longer.out;
    EXPECT_EQ(Has(longer.out, CheckpointName(7) + " cannot be used: "), damaged) << longer.out;
    EXPECT_TRUE(Has(longer.out,
                    "goes on from step 10, and the learning rate rises again: of step 7, behind which "
                    "it fell, there is no checkpoint to go on from"))
        << longer.out;
    EXPECT_TRUE(Has(longer.out, " times that of step 10")) << longer.out;
  }
}

TEST_F(LongerRun, OfOneCycleIsAnotherRunAndGoesOnFromItsEnd) {
  ASSERT_EQ(Train(run_, "optimizer={} optimizer.schedule=one_cycle steps=10").code, ExitCode::kDone);
  EXPECT_EQ(Steps(run_), ListOfSteps{10}) << "nothing to go on from";
  const Ended longer = test::ResumeToTheEnd(run_, "steps=12");
  EXPECT_EQ(longer.code, ExitCode::kDone) << longer.out;
  EXPECT_TRUE(Has(longer.out, "restored step 10 ") &&
              Has(longer.out, "with one_cycle each number of steps is another run"))
      << longer.out;
}

// Whether it cools still or is over; an edit of anything else is refused as before.
TEST_F(LongerRun, OfWhoseLastStageTheEndIsEditedGoesOnFromBeforeItCooled) {
  const auto weights = [](const std::string& more) {
    return R"({"unit": "rows", "stages": [{"name": "a", "weights": {"control": 1}, "cooldown": 4, )" + more +
           "}]}";
  };
  WriteText(scratch_ / "weights.json", weights(R"("until": {"steps": 12})"));
  const fs::path whole = scratch_ / "whole";
  ASSERT_EQ(Train(whole, "steps=100").code, ExitCode::kDone);
  auto expected = EndState(whole);
  expected.erase("state");  // with the log of the weights
  WriteText(scratch_ / "weights.json", weights(R"("until": {"steps": 5})"));
  for (const std::int64_t end : {8, 9}) {
    const fs::path run = scratch_ / std::to_string(end);
    {
      SilentConsole console;
      Session session = Session::Begin(Request("steps=100"), run, *console);
      session.Train(end);
    }
    EXPECT_EQ(Steps(run), (ListOfSteps{end, 5}));
    if (end == 9) {
      WriteText(run / "weights.json", weights(R"("until": {"steps": 5}, "warmup": 3)"));
      const Ended refused = test::ResumeToTheEnd(run);
      EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
      EXPECT_EQ(Steps(run), (ListOfSteps{end, 5})) << "nothing happened";
    }
    WriteText(run / "weights.json", weights(R"("until": {"steps": 12})"));
    const Ended longer = test::ResumeToTheEnd(run);
    EXPECT_EQ(longer.code, ExitCode::kDone) << longer.out;
    EXPECT_TRUE(Has(
        longer.out,
        "goes on from step 5, behind which its last stage cooled, and not from step " + std::to_string(end)))
        << longer.out;
    auto state = EndState(run);
    state.erase("state");
    EXPECT_EQ(state, expected);
    EXPECT_EQ(Steps(run), (ListOfSteps{16, 12})) << "of two cooldowns, that of the later";
  }
}

}  // namespace
}  // namespace medley
