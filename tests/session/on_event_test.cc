// Runs whose on_event hears of them.
#include <gtest/gtest.h>

#include <medley/config/run_config.h>

#include "tests/session/session_runs.h"
#include "tests/tools/small_runs.h"
#include "tests/tools/trouble_run.h"
#include "tests/train/on_event.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::EndState;
using test::Has;
using test::Listener;

class OnEvent : public ::testing::Test {
 protected:
  OnEvent() { WriteText(scratch_ / "weights.json", kWeights); }

  static constexpr const char* kWeights = R"({"stages": [
    {"name": "a", "weights": {"control": 1}, "until": {"steps": 3}}, {"name": "b", "weights": {"control": 1}}]})";

  BeginRequest Request(const std::string& more = "") const {
    return test::RequestOf("quickstart.json",
                           "plan=false threads=1 hours=0 seed=5 steps=6 tensorboard=false eval.every=3 "
                           "eval.rows=4 checkpoint.every=2 tasks.control.rows=2 weights=" +
                               (scratch_ / "weights.json").string() + " " + more);
  }
  // The same as a config of somebody's.
  BeginRequest Config(const std::string& on_event) const {
    const BeginRequest request = Request();
    auto config = ToJson(ReadRunConfig(request.config, request.overrides));
    config["on_event"] = nlohmann::json::parse(on_event);
    WriteText(scratch_ / "their.json", config.dump());
    return {.config = scratch_ / "their.json"};
  }
  fs::path run() const { return scratch_ / "run"; }

  ScratchDirectory scratch_;
  const test::FreshState state_{scratch_ / "state"};
  const Listener listener_{scratch_.path()};
  test::SilentConsole console_;
};

TEST_F(OnEvent, HearsOfStagesCheckpointsAndTheEndAndChangesNothing) {
  const Ended told = test::TrainToTheEnd(Request(listener_.override()), run());
  ASSERT_EQ(told.code, ExitCode::kDone) << told.out;
  EXPECT_EQ(listener_.Words(), "stage a 0, checkpoint 2, stage b 3, checkpoint 4, checkpoint 6, end 6");
  const auto end = listener_.Heard().back();
  EXPECT_EQ(end.at("why"), "all its steps are done");
  EXPECT_EQ(end.at("exit_code"), 0);
  EXPECT_EQ(end.at("run"), run().string());
  EXPECT_TRUE(end.at("losses").contains("control") && end.at("scores").contains("control")) << end;
  EXPECT_TRUE(
      fs::exists(listener_.Heard().at(4).at("checkpoint").get<std::string>()));  // older ones may be gone
  EXPECT_FALSE(Has(told.out, "on_event: ")) << told.out;
  const fs::path plain = scratch_ / "plain";
  ASSERT_EQ(test::TrainToTheEnd(Request(), plain).code, ExitCode::kDone);
  EXPECT_EQ(EndState(run()), EndState(plain));
  EXPECT_FALSE(Has(ReadText(plain / "config.resolved.json"), "on_event"));
}

TEST_F(OnEvent, OfAConfigNeedsTheUsersWordAndAResumeHasItThen) {
  const BeginRequest theirs = Config("[\"./listen\"]");
  const Ended refused = test::TrainToTheEnd(theirs, run());
  EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
  EXPECT_TRUE(Has(refused.out, listener_.path().string()) && Has(refused.out, "--allow-on-event"))
      << refused.out;
  EXPECT_FALSE(fs::exists(run()));
  BeginRequest allowed = theirs;
  allowed.allow_on_event = true;
  {
    Session session = Session::Begin(allowed, run(), *console_);
    EXPECT_EQ(session.Train(3), ExitCode::kDone);
  }
  EXPECT_EQ(listener_.Words(), "stage a 0, checkpoint 2, stage b 3, checkpoint 3") << "it is not over";
  ASSERT_EQ(test::ResumeToTheEnd(run()).code, ExitCode::kDone);
  EXPECT_EQ(listener_.Words(),
            "stage a 0, checkpoint 2, stage b 3, checkpoint 3, checkpoint 4, checkpoint 6, end 6");
  {
    const test::FreshState another(scratch_ / "other user");
    const Ended other = test::ResumeToTheEnd(run(), "steps=8");
    EXPECT_EQ(other.code, ExitCode::kBadInput) << other.out;
    EXPECT_TRUE(Has(other.out, "on_event names a program that you have not confirmed")) << other.out;
    const std::size_t heard = listener_.Heard().size();
    const Ended without = test::ResumeToTheEnd(run(), "steps=8 on_event=[]");
    EXPECT_EQ(without.code, ExitCode::kDone) << without.out;
    EXPECT_TRUE(Has(without.out, "changed: on_event")) << without.out;
    EXPECT_EQ(listener_.Heard().size(), heard);
  }
}

TEST_F(OnEvent, HearsWhyARunFailedAndThatItWasInterrupted) {
  test::TroubleRun trouble;
  BeginRequest request = test::RequestOf(
      "quickstart.json",
      trouble.Overrides() + " plan=false steps=9 tasks.trouble.options.fails_at=4 " + listener_.override());
  request.plugins.paths = {test::TroubleRun::Plugin()};
  const Ended failed = test::TrainToTheEnd(request, trouble.run());
  EXPECT_EQ(failed.code, ExitCode::kFailed) << failed.out;
  ASSERT_GE(listener_.Heard().size(), 1U);
  const auto fail = listener_.Heard().back();
  EXPECT_EQ(fail.at("event"), "fail");
  EXPECT_EQ(fail.at("exit_code"), 1);
  EXPECT_TRUE(Has(fail.at("why").get<std::string>(), "these rows are meant to fail")) << fail;
  {
    Session session = Session::Begin(Request(listener_.override()), run(), *console_);
    session.Train(1);
    EXPECT_EQ(test::TrainInterrupted(session), ExitCode::kInterrupted);
  }
  EXPECT_EQ(listener_.Heard().back().at("event"), "end");
  EXPECT_EQ(listener_.Heard().back().at("why"), "it was interrupted");
  EXPECT_EQ(listener_.Heard().back().at("exit_code"), 130);
}

TEST_F(OnEvent, HearsNothingOfAReplay) {
  {
    Session session = Session::Begin(Request(listener_.override()), run(), *console_);
    session.Train(3);
  }
  ASSERT_EQ(test::ResumeToTheEnd(run()).code, ExitCode::kDone);
  const std::string heard = listener_.Words();
  // Somebody else's, too: nothing of it runs, and the run is the same without.
  const test::FreshState another(scratch_ / "other user");
  for (const std::string& own : {listener_.override(), std::string()}) {
    const fs::path again = scratch_ / ("again" + std::to_string(own.size()));
    const Ended replayed = test::ReplayToTheEnd(run(), Request(own), again);
    ASSERT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
    EXPECT_EQ(ReadText(again / "metrics.jsonl"), ReadText(run() / "metrics.jsonl"));
  }
  EXPECT_EQ(listener_.Words(), heard);
}

TEST_F(OnEvent, AProgramThatIsNotThereIsRefusedBeforeTheFirstStep) {
  const Ended refused = test::TrainToTheEnd(Request("on_event=[\"./nothing\"]"), run());
  EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
  EXPECT_TRUE(Has(refused.out, "nothing") && Has(refused.out, "on_event=[] runs none")) << refused.out;
  EXPECT_FALSE(fs::exists(run()));
}

}  // namespace
}  // namespace medley
