// Interrupts and failures of a run whose task is slow, or breaks.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>

#include <medley/base/work_progress.h>

#include "tests/session/session_runs.h"
#include "tests/tools/small_runs.h"
#include "tests/tools/trouble_run.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test::Ended;
using test::EndState;
using test::Has;
using test::InterruptsWhen;
using test::LineCount;

// That run, in this process.
class TroubleSession {
 public:
  BeginRequest Request(const std::string& more) const {
    BeginRequest request = test::RequestOf("quickstart.json", trouble_.Overrides() + " " + more);
    request.plugins.paths = {test::TroubleRun::Plugin()};
    return request;
  }
  Ended Train(const std::string& more) const {
    return test::TrainToTheEnd(Request("plan=false " + more), run());
  }
  Ended Resume(const std::string& more = "") const { return test::ResumeToTheEnd(run(), more); }
  fs::path run() const { return trouble_.run(); }

 private:
  test::TroubleRun trouble_;
};

// Also where it is that of the last step, after which nothing else is to be done; and where the model has the
// average of its weights meanwhile, which must not be saved as them.
TEST(Interrupt, AnEvaluationIsGivenUpAtOnceAndDoneAgainAfterAResume) {
  for (const std::string steps : {"2", "4"}) {
    const std::string settings =
        "steps=" + steps + " eval.every=2 eval.rows=96" + (steps == "4" ? " optimizer.average=0.5" : "");
    const TroubleSession whole, trouble;
    ASSERT_EQ(whole.Train(settings).code, ExitCode::kDone);
    std::uint64_t signs = 0;
    const auto evaluates = [&] {
      const std::uint64_t now = WorkProgress::Signs();
      if (LineCount(trouble.run() / "timing.jsonl") >= 1) return now > signs;
      signs = now;
      return false;
    };
    InterruptsWhen interrupt(evaluates, milliseconds(200));
    const Ended train = trouble.Train(settings + " tasks.trouble.options.piece_ms=1000");
    EXPECT_LT(interrupt.SecondsToEnd(), test::kSoon) << train.out;
    EXPECT_EQ(train.code, ExitCode::kInterrupted) << train.out;
    EXPECT_TRUE(Has(train.out, "saved step 2\n")) << train.out;
    EXPECT_EQ(LineCount(trouble.run() / "metrics.jsonl"), 1) << "the second step is not evaluated so far";
    const test::AwakeTrouble awake;
    const Ended resumed = trouble.Resume();
    EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_EQ(EndState(trouble.run()), EndState(whole.run())) << resumed.out;
    const Ended done = trouble.Resume();
    EXPECT_TRUE(Has(done.out, "all " + steps + " steps are done")) << done.out;
  }
}

// The checkpoint is there all the time.
TEST(Interrupt, PlanningOfAResumeLeavesTheRunAsItWas) {
  const TroubleSession trouble;
  std::optional<test::AwakeTrouble> awake(std::in_place);
  const Ended begun = test::TrainToTheEnd(
      trouble.Request("steps=1 plan=true tasks.trouble.options.pass_ms=1500"), trouble.run());
  ASSERT_EQ(begun.code, ExitCode::kDone) << begun.out;
  const auto state = EndState(trouble.run());
  fs::remove(trouble.run() / "plan.json");
  fs::remove(trouble.run() / "profile.json");
  const std::string log = ReadText(trouble.run() / "log.txt");
  InterruptsWhen interrupt(
      [&] {
        return Has(ReadText(trouble.run() / "log.txt").substr(log.size()), "measuring what the tasks take");
      },
      milliseconds(200));
  awake.reset();
  const Ended resumed = trouble.Resume("steps=2");
  EXPECT_LT(interrupt.SecondsToEnd(), test::kBeforeAllIsPlanned) << resumed.out;
  EXPECT_EQ(resumed.code, ExitCode::kInterrupted) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "the run is as it was")) << resumed.out;
  EXPECT_EQ(EndState(trouble.run()), state);
  awake.emplace();
  EXPECT_EQ(trouble.Resume("steps=2").code, ExitCode::kDone);
}

std::int64_t Count(const std::string& text, const std::string& words) {
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; at += words.size()) ++count;
  return count;
}

TEST(Failure, ThatEndsARunIsSaidOnceAndStandsInTheLog) {
  const TroubleSession trouble;
  const Ended failed = trouble.Train("steps=6 tasks.trouble.options.fails_at=2");
  EXPECT_EQ(failed.code, ExitCode::kFailed) << failed.out;
  EXPECT_EQ(Count(failed.out, "these rows are meant to fail"), 1) << failed.out;
  EXPECT_TRUE(Has(ReadText(trouble.run() / "log.txt"), "the run ends: "));
}

// Not one that says to lower a rate that was never used.
TEST(Failure, ALossThatIsNanFromTheStartIsNotTheLearningRates) {
  const TroubleSession trouble;
  const Ended failed = trouble.Train("steps=2 draws_per_step=4 tasks.trouble.options.scores=4");
  EXPECT_EQ(failed.code, ExitCode::kFailed) << failed.out;
  EXPECT_TRUE(Has(failed.out, "is nan")) << failed.out;
  EXPECT_FALSE(Has(failed.out, "optimizer.learning_rate=")) << failed.out;
}

TEST(Waiting, IsSaidWithTheTaskAndTheCure) {
  const TroubleSession trouble;
  const Ended trained = trouble.Train("steps=8 data.threads=0 tasks.trouble.options.sample_ms=300");
  EXPECT_EQ(trained.code, ExitCode::kDone) << trained.out;
  EXPECT_TRUE(Has(trained.out, " % waiting for data (trouble): data.threads=")) << trained.out;
}

}  // namespace
}  // namespace medley
