// A run with edits, resumes and an early decay, repeated.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "tests/session/session_runs.h"
#include "tests/tools/edited_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::Has;

class Replays : public ::testing::Test {
 protected:
  Replays() { WriteText(scratch_ / "template.json", test::kReplayedWeights); }

  BeginRequest Request(const std::string& more) const {
    return test::RequestOf("quickstart.json",
                           test::kReplayed + (scratch_ / "template.json").string() + " " + more);
  }
  Ended Train(const std::string& more) const { return test::TrainToTheEnd(Request(more), run()); }
  Ended Replay(const std::string& name, const std::string& more, const std::string& old = "run") const {
    return test::ReplayToTheEnd(scratch_ / old, Request(more), scratch_ / name);
  }
  Ended Resume(const std::string& more) const { return test::ResumeToTheEnd(run(), more); }
  fs::path run() const { return scratch_ / "run"; }
  std::string Metrics(const std::string& name) const { return ReadText(scratch_ / name / "metrics.jsonl"); }
  void Edit(const std::string& from, const std::string& to) const {
    std::string text = ReadText(run() / kRunWeights);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    WriteText(run() / kRunWeights, text.replace(at, from.size(), to));
  }

  ScratchDirectory scratch_;
  test::SilentConsole console_;
};

// Edited while it ran and while it rested, interrupted, and resumed with other settings.
TEST_F(Replays, RepeatAllThatAPersonDid) {
  const std::string first = "plan=false hours=0 steps=60";
  {
    Session train = Session::Begin(Request(first), run(), *console_);
    train.Train(5);
    Edit("\"control\": 1", "\"control\": 2, \"arrow_to_gold\": 1");
    ASSERT_TRUE(test::TrainUntil(train, [&] { return Has(console_.words(), "the weights were edited"); }))
        << console_.words();
    train.Train(41);
    EXPECT_EQ(test::TrainInterrupted(train), ExitCode::kInterrupted) << console_.words();
  }
  Edit("\"draws\": 10", "\"draws\": 12");  // of the present stage: it begins anew
  const Ended resumed = Resume("optimizer.learning_rate=1e-4 steps=70");
  ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  const Ended replayed = Replay("again", first);
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
  EXPECT_TRUE(Has(replayed.out, "the run that is repeated was resumed after step ")) << replayed.out;
  EXPECT_EQ(ReadText(scratch_ / "again" / kRunWeights), ReadText(run() / kRunWeights));
  // And it can be repeated itself.
  const Ended third = Replay("third", first, "again");
  EXPECT_EQ(third.code, ExitCode::kDone) << third.out;
  EXPECT_EQ(Metrics("third"), Metrics("run"));
}

TEST_F(Replays, RepeatAnEarlyDecayAndWhereARunWasLeft) {
  const std::string first = "plan=true budget=2GiB steps=1000000 hours=0.001";
  const Ended trained = Train(first);
  ASSERT_EQ(trained.code, ExitCode::kDone) << trained.out;
  ASSERT_TRUE(Has(trained.out, "from here on the learning rate falls")) << trained.out;
  const Ended replayed = Replay("again", first);
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
  EXPECT_FALSE(Metrics("run").empty());
}

// Each step takes ten times as long from the decay's first one on; then the run is resumed within it. Where
// the machine waits that long itself, the hours are over before: then a run of more.
TEST_F(Replays, RepeatADecayThatWasShortened) {
  std::string first, words;
  const auto slowly = [](Session& train, std::int64_t most) {
    for (std::int64_t before = -1; train.step() != before && train.step() < most;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      before = train.step();
      train.Train(before + 1);
    }
  };
  const auto refits = [&] {
    const std::vector<WeightEntry> entries = WeightLog(run()).entries();
    return std::count_if(entries.begin(), entries.end(), [](const WeightEntry& entry) {
      return entry.cause == WeightEntry::Cause::kDecayRefit;
    });
  };
  const auto is_resumed_in_it = [&](const std::string& hours) {
    fs::remove_all(run());
    first = "plan=false steps=1000000 eval.every=0 checkpoint.every=0 hours=" + hours;
    test::SilentConsole console;
    {
      Session train = Session::Begin(Request(first), run(), *console);
      while (!Has(console.words(), "from here on the learning rate falls")) train.Train(train.step() + 10);
      for (int step = 0; step < 200 && refits() == 0; ++step) slowly(train, train.step() + 1);
      words = console.words();
      if (refits() == 0) return false;
    }
    Session train = Session::Resume(run(), {}, *console);
    slowly(train, std::numeric_limits<std::int64_t>::max());
    words = console.words();
    return Has(words, "the run's decay goes on");
  };
  ASSERT_TRUE(is_resumed_in_it("0.001") || is_resumed_in_it("0.002") || is_resumed_in_it("0.008")) << words;
  const Ended replayed = Replay("again", first);
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
  EXPECT_TRUE(Has(replayed.out, "as in the run that is repeated: the learning rate falls")) << replayed.out;
}

TEST_F(Replays, RepeatAnEvaluationThatWasInterruptedAndResumedWithOtherRows) {
  const std::string first = "plan=false hours=0 steps=24 eval.rows=50000";
  {
    Session train = Session::Begin(Request(first), run(), *console_);
    train.Train(19);
    const test::InterruptsWhen interrupt([] { return true; }, std::chrono::milliseconds(1500));
    ASSERT_EQ(train.Train(), ExitCode::kInterrupted) << console_.words();
    ASSERT_EQ(train.step(), 20) << "before the evaluation";
  }
  const std::string metrics = Metrics("run");
  ASSERT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 19) << "in the evaluation";
  const Ended resumed = Resume("eval.rows=6");
  ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  const Ended replayed = Replay("again", first);
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
}

TEST_F(Replays, RepeatPredictionsOfARunThatWasResumed) {
  const std::string first =
      "plan=false hours=0 steps=40 optimizer.warmup_steps=2 optimizer.average=0.9 phases.warmup_steps=5 "
      "phases.full_steps=5 phases.correct_steps=2 phases.allowance=0.9";
  {
    Session train = Session::Begin(Request(first), run(), *console_);
    train.Train(23);
    EXPECT_EQ(test::TrainInterrupted(train), ExitCode::kInterrupted) << console_.words();
  }
  const Ended resumed = Resume("");
  ASSERT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  const Ended replayed = Replay("again", first);
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
  EXPECT_TRUE(Has(Metrics("run"), "\"jump\"")) << "nothing was predicted";
}

// Up to the first change of its weights one draws as ever; behind it the mixer draws otherwise than older
// ones.
TEST_F(Replays, RunsThatAnOlderMixerDrewAreRefusedWhereTheirWeightsChanged) {
  const std::string first = "plan=false hours=0 steps=34";
  ASSERT_EQ(Train(first).code, ExitCode::kDone);
  for (const CheckpointEntry& entry : ListCheckpoints(run()))
    fs::remove_all(entry.path);  // they know the log
  const std::vector<WeightEntry> entries = WeightLog(run()).entries();
  ASSERT_EQ(entries.size(), 2u);
  const auto rewrite = [&](std::size_t lines, std::int64_t rule = 1) {
    std::vector<std::string> old;
    for (std::size_t i = 0; i < lines; ++i) {
      WeightEntry entry = entries[i];
      EXPECT_EQ(std::exchange(entry.draw_rule, rule), 2);
      old.push_back(LineOf(entry, old.empty() ? "" : old.back()));
    }
    WriteText(run() / kWeightLog, TextOf(old, {}, LogEnd::kClosed));
  };
  rewrite(2);
  const Ended refused = Replay("again", first);
  EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
  EXPECT_TRUE(Has(refused.out,
                  "cannot be repeated: its weights changed at step 30 (stage b), and the medley that "
                  "trained it draws otherwise after a change"))
      << refused.out;
  EXPECT_TRUE(Has(refused.out, "medley resume goes on with it")) << refused.out;
  EXPECT_FALSE(fs::exists(scratch_ / "again"));
  rewrite(2, 3);
  const Ended newer = Replay("again", first);
  EXPECT_EQ(newer.code, ExitCode::kBadInput) << newer.out;
  EXPECT_TRUE(Has(newer.out, "Repeat it with that medley\n")) << newer.out << "no resume goes on with it";
  rewrite(1);
  const Ended replayed = Replay("again", first);
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
}

TEST_F(Replays, AnotherConfigIsRefusedWithWhatDiffers) {
  ASSERT_EQ(Train("plan=false hours=0 steps=12").code, ExitCode::kDone);
  const Ended other = Replay("again", "plan=false hours=0 steps=13 optimizer.clip_norm=2");
  EXPECT_EQ(other.code, ExitCode::kBadInput) << other.out;
  EXPECT_TRUE(Has(other.out, "\n  optimizer.clip_norm: 1.0 -> 2.0\n  steps: 12 -> 13")) << other.out;
  EXPECT_FALSE(fs::exists(scratch_ / "again"));
  EXPECT_EQ(Replay("again", "", "nothing").code, ExitCode::kBadInput);
}

}  // namespace
}  // namespace medley
