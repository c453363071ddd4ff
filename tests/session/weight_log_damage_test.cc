// What becomes of a run whose weights.jsonl or weights.json is not as it was left, as its user meets it.
#include <gtest/gtest.h>

#include <medley/curriculum/weight_log.h>

#include "tests/session/session_runs.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Ended;
using test::EndState;
using test::Has;
using test::Medley;
using test::Shell;

// Ten steps, another stage after the seventh, edited while it rested, and ten more. With the checkpoint of
// step 5 alone, the stage and the edit are still to come.
class DamagedWeights : public ::testing::Test {
 protected:
  DamagedWeights() {
    WriteText(scratch_ / "template.json", With("1"));
    const Ended trained = Train("run");
    EXPECT_EQ(trained.code, ExitCode::kDone) << trained.out;
    WriteText(run() / kRunWeights, With("5"));
    const Ended resumed = Resume(run(), "steps=20");
    EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    log_ = ReadText(run() / kWeightLog);
    const fs::path killed = KilledAfter(5);  // its learning rate is that of 20 steps from there on
    EXPECT_EQ(Resume(killed).code, ExitCode::kDone);
    end_ = EndState(killed);
    EXPECT_EQ(ReadText(killed / kWeightLog), log_);
  }

  BeginRequest Request() const {
    return test::RequestOf(
        "quickstart.json",
        "threads=1 plan=false hours=0 seed=5 steps=10 tensorboard=false eval.every=0 checkpoint.every=5 "
        "checkpoint.keep=1000 optimizer.decay_fraction=0 data.threads=1 tasks.control.rows=1 "
        "tasks.zoom_gold.rows=1 weights=" +
            (scratch_ / "template.json").string());
  }
  Ended Train(const std::string& name) const { return test::TrainToTheEnd(Request(), scratch_ / name); }
  static Ended Resume(const fs::path& run, const std::string& more = "") {
    return test::ResumeToTheEnd(run, more);
  }
  Ended Replay(const fs::path& run, const std::string& name) const {
    return test::ReplayToTheEnd(run, Request(), scratch_ / name);
  }
  fs::path run() const { return scratch_ / "run"; }
  static std::string With(const std::string& control) {
    return "{\"unit\": \"steps\", \"stages\": [{\"name\": \"a\", \"weights\": {\"zoom_gold\": 1}, "
           "\"until\": {\"steps\": 7}},\n{\"name\": \"b\", \"weights\": {\"control\": " +
           control + ", \"zoom_gold\": 3}}]}\n";
  }
  // As if it had been killed before it saved a later step.
  fs::path KilledAfter(std::int64_t step) const {
    const fs::path copy = scratch_ / ("killed-" + std::to_string(copies_++));
    fs::copy(run(), copy, fs::copy_options::recursive);
    for (const CheckpointEntry& entry : ListCheckpoints(copy)) {
      if (entry.step > step) fs::remove_all(entry.path);
    }
    return copy;
  }
  std::string Changed(const std::string& from, const std::string& to) const {
    std::string text = log_;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  // So many lines of start, stage, edit and end.
  std::string FirstLines(int n) const {
    std::size_t at = 0;
    for (; n > 0; --n) at = log_.find('\n', at) + 1;
    return log_.substr(0, at);
  }

  ScratchDirectory scratch_;
  std::map<std::string, std::string> end_;
  std::string log_;
  mutable int copies_ = 0;
};

// The checkpoint of step 5 has the start, and weights.json the edit that is to come.
TEST_F(DamagedWeights, WhereNothingIsLostTheRunEndsAsTheOneWithoutDamage) {
  for (const std::string& damaged : {Changed("\"control\\\": 1", "\"control\\\": 9"),  // the text of the past
                                     Changed("\"control\\\": 5", "\"control\\\": 4"),  // the one that is due
                                     Changed("\"step\":0", "\"step\":2")}) {
    const fs::path killed = KilledAfter(5);
    WriteText(killed / kWeightLog, damaged);
    const Ended resumed = Resume(killed);
    EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "nothing is lost")) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "the damaged one is now weights.jsonl.damaged-1")) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "step 10: an edit of the weights comes again")) << resumed.out;
    EXPECT_EQ(ReadText(killed / "weights.jsonl.damaged-1"), damaged);
    EXPECT_EQ(ReadText(killed / kWeightLog), log_);
    EXPECT_EQ(EndState(killed), end_);
  }
}

// It cannot be known when the run came to these weights, so they hold from the checkpoint on, and that is
// said.
TEST_F(DamagedWeights, WhereAnEditIsLostItIsSaidAndNoOldWeightsAreTrainedOn) {
  const std::map<std::string, bool> damages = {
      {std::string(log_, 0, log_.size() - 40), true},  // of its end alone
      {Changed("\"step\":10", "\"step\":11"), false},
      {FirstLines(2), false},
      {"", false}};
  for (const auto& [damaged, edit_is_whole] : damages) {
    const fs::path killed = KilledAfter(5);
    WriteText(killed / kWeightLog, damaged);
    const Ended resumed = Resume(killed);
    EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "from the first damaged line on are lost")) << resumed.out;
    EXPECT_FALSE(Has(resumed.out, "edited since")) << resumed.out;
    EXPECT_EQ(Has(resumed.out, "step 5: the weights were edited"), !edit_is_whole) << resumed.out;
    EXPECT_TRUE(!edit_is_whole || EndState(killed) == end_) << resumed.out;
    // What was then trained is what a replay of it trains.
    const std::string name = "again-" + std::to_string(++copies_);
    const Ended replayed = Replay(killed, name);
    EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
    EXPECT_EQ(ReadText(scratch_ / name / "metrics.jsonl"), ReadText(killed / "metrics.jsonl"));
  }
}

TEST_F(DamagedWeights, AMissingLogAndAMissingFileAreRestored) {
  ASSERT_EQ(Resume(run(), "steps=24").code, ExitCode::kDone);
  const auto expected = EndState(run());
  for (const bool both : {false, true}) {
    for (const char* name : {kWeightLog, kRunWeights}) {
      const fs::path killed = KilledAfter(20);
      fs::remove(killed / name);
      if (both) fs::remove_all(killed / kWeightLog);
      const Ended resumed = Resume(killed, "steps=24");
      EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
      EXPECT_TRUE(Has(resumed.out, (killed / name).string() + " is missing; ")) << resumed.out;
      EXPECT_FALSE(Has(resumed.out, "were edited")) << resumed.out;
      EXPECT_EQ(EndState(killed), expected) << name;
      EXPECT_EQ(ReadText(killed / kRunWeights), With("5"));
      EXPECT_EQ(ReadText(killed / kWeightLog), log_);
    }
  }
  // What was copied is a template, and by now another one.
  WriteText(scratch_ / "template.json", "{\"unit\": \"steps\", \"weights\": {\"arrow_to_gold\": 1}}");
  const fs::path killed = KilledAfter(20);
  fs::remove(killed / kRunWeights);
  const std::string eval = Medley() + "eval " + killed.string() + " --rows 2 2>&1";
  for (const std::string& asked : {eval, Medley() + "weights diff " + killed.string() + " 2>&1",
                                   Medley() + "validate " + (killed / kRunWeights).string() + " 2>&1"}) {
    const CommandResult refused = Shell(asked);
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_TRUE(Has(refused.out, "weights.json is missing. Restore it from a copy; or medley resume"))
        << refused.out;
  }
  EXPECT_EQ(Resume(killed).code, ExitCode::kDone) << "which has nothing else to do";
  EXPECT_EQ(ReadText(killed / kRunWeights), With("5"));
  EXPECT_EQ(Shell(eval).code, 0);
  fs::remove(killed / kRunWeights);
  fs::remove(killed / kWeightLog);
  EXPECT_EQ(Shell(eval).code, 2) << "the checkpoint knows that there was a log";
}

TEST_F(DamagedWeights, AReplayRefusesWhatItCannotRepeat) {
  const std::map<std::string, std::string> damages = {
      {"a text", Changed("\"control\\\": 1", "\"control\\\": 2")},
      {"a due text", Changed("\"control\\\": 5", "\"control\\\": 4")},
      {"a step", Changed("\"step\":10", "\"step\":12")},
      {"cut", std::string(log_, 0, log_.size() - 40)},
      {"cut behind a line", FirstLines(3)},
      {"without the edit", FirstLines(2) + log_.substr(FirstLines(3).size())},
      {"twice", log_ + log_},
      {"empty", ""},
      {"no JSON", "weights\n"},
  };
  const auto refuses = [&](const std::string& what, const std::string& words) {
    const Ended replayed = Replay(run(), "again");
    EXPECT_EQ(replayed.code, ExitCode::kBadInput) << what << replayed.out;
    EXPECT_TRUE(Has(replayed.out, "cannot be repeated: ")) << what << replayed.out;
    EXPECT_TRUE(Has(replayed.out, words)) << what << replayed.out;
    EXPECT_FALSE(fs::exists(scratch_ / "again")) << what;
  };
  for (const auto& [what, text] : damages) {
    WriteText(run() / kWeightLog, text);
    refuses(what, "weights.jsonl was ");
    const CommandResult history = Shell(Medley() + "weights history " + run().string() + " 2>&1");
    EXPECT_EQ(history.code, 2) << what << history.out;
    EXPECT_TRUE(Has(history.out, "weights.jsonl was ")) << what << history.out;
    EXPECT_EQ(Shell(Medley() + "weights diff " + run().string() + " 2>&1").code, 2) << what;
  }
  fs::remove(run() / kWeightLog);
  refuses("missing", "weights.jsonl is missing");
  fs::create_directory(run() / kWeightLog);
  refuses("a directory", "weights.jsonl is no plain file");
  fs::remove(run() / kWeightLog);
  // A copy of before the edit: whole, and not what the newest checkpoint was saved after.
  const fs::path begun = scratch_ / "begun";
  ASSERT_EQ(Train("begun").code, ExitCode::kDone);
  fs::copy_file(begun / kWeightLog, run() / kWeightLog);
  refuses("an older copy", "bytes, but the checkpoint was saved after ");
  WriteText(run() / kWeightLog, log_);
  fs::rename(run() / kRunWeights, scratch_ / "elsewhere");
  EXPECT_EQ(Replay(run(), "again").code, ExitCode::kBadInput);
  fs::rename(scratch_ / "elsewhere", run() / kRunWeights);
  const Ended replayed = Replay(run(), "again");
  EXPECT_EQ(replayed.code, ExitCode::kDone) << replayed.out;
  EXPECT_TRUE(ReadText(scratch_ / "again" / "metrics.jsonl") == ReadText(run() / "metrics.jsonl"));
}

// A resume that is refused for another reason changes nothing.
TEST_F(DamagedWeights, ALogIsSetAsideOnlyOnceAllElseIsRight) {
  WriteText(run() / kWeightLog, log_ + "more\n");
  WriteText(run() / kRunWeights, "{\"unit\": \"steps\", \"weights\": {\"zoom_glod\": 1}}");
  const Ended refused = Resume(run(), "steps=24");
  EXPECT_EQ(refused.code, ExitCode::kBadInput) << refused.out;
  EXPECT_TRUE(Has(refused.out, "no such task")) << refused.out;
  EXPECT_TRUE(Has(refused.out, "weights.jsonl was damaged: line 5 stands behind its end")) << refused.out;
  EXPECT_EQ(ReadText(run() / kWeightLog), log_ + "more\n");
  EXPECT_FALSE(fs::exists(run() / "weights.jsonl.damaged-1"));
}

TEST_F(DamagedWeights, ALogThatLiesWhereARunBeginsIsNotItsOwn) {
  fs::create_directory(scratch_ / "new");
  fs::copy_file(run() / kWeightLog, scratch_ / "new" / kWeightLog);
  const Ended trained = Train("new");
  EXPECT_EQ(trained.code, ExitCode::kDone) << trained.out;
  EXPECT_TRUE(Has(trained.out, "weights.jsonl is not of this run; it is now weights.jsonl.damaged-1"))
      << trained.out;
  EXPECT_EQ(WeightLog(scratch_ / "new").entries().size(), 2u);
}

}  // namespace
}  // namespace medley
