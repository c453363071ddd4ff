// A run with edits, resumes and an early decay, repeated.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include <medley/base/files.h>
#include <medley/curriculum/weight_log.h>

#include "tests/tools/background.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Background;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;
using test::StepsOf;

constexpr const char* kReplayedWeights =
    "{\"unit\": \"steps\", \"stages\": [\n"
    "{\"name\": \"a\", \"weights\": {\"control\": 1, \"zoom_gold\": 3}, \"until\": {\"steps\": 30}},\n"
    "{\"name\": \"b\", \"weights\": {\"zoom_gold\": 1}, \"ramp\": {\"draws\": 10}, "
    "\"set\": {\"tasks.zoom_gold.rows\": 2}}]}\n";

class Replays : public ::testing::Test {
 protected:
  Replays() { WriteText(scratch_ / "template.json", kReplayedWeights); }

  std::string TrainLine(const std::string& name, const std::string& more) const {
    return Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " +
           (scratch_ / name).string() +
           " threads=1 seed=5 tensorboard=false eval.every=20 eval.rows=4 checkpoint.every=10 data.threads=1 "
           "tasks.control.rows=1 tasks.zoom_gold.rows=1 tasks.arrow_to_gold.rows=1 weights=" +
           (scratch_ / "template.json").string() + " " + more;
  }
  CommandResult Train(const std::string& name, const std::string& more) const {
    return Shell(TrainLine(name, more) + " 2>&1");
  }
  CommandResult Resume(const std::string& more) const {
    return Shell(Medley() + "resume " + run().string() + " " + more + " 2>&1");
  }
  fs::path run() const { return scratch_ / "run"; }
  std::string Metrics(const std::string& name) const { return ReadText(scratch_ / name / "metrics.jsonl"); }
  void Edit(const std::string& from, const std::string& to) const {
    std::string text = ReadText(run() / kRunWeights);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    WriteText(run() / kRunWeights, text.replace(at, from.size(), to));
  }

  ScratchDirectory scratch_;
};

// Edited while it ran and while it rested, interrupted, and resumed with other settings.
TEST_F(Replays, RepeatAllThatAPersonDid) {
  const std::string first = "plan=false hours=0 steps=400";
  {
    Background train(TrainLine("run", first), scratch_ / "words.txt");
    ASSERT_TRUE(train.WaitUntil([&] { return StepsOf(run()) > 4; })) << train.words();
    Edit("\"control\": 1", "\"control\": 2, \"arrow_to_gold\": 1");
    ASSERT_TRUE(train.WaitUntil([&] { return Has(train.words(), "the weights were edited"); }))
        << train.words();
    ASSERT_TRUE(train.WaitUntil([&] { return StepsOf(run()) > 40; })) << train.words();
    train.Interrupt();
    EXPECT_EQ(train.Wait(), 130) << train.words();
  }
  Edit("\"draws\": 10", "\"draws\": 12");  // of the present stage: it begins anew
  CommandResult resumed = Resume("optimizer.learning_rate=1e-4 steps=420");
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  const CommandResult replayed = Train("again", first + " --replay " + run().string());
  EXPECT_EQ(replayed.code, 0) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
  EXPECT_TRUE(Has(replayed.out, "the run that is repeated was resumed after step ")) << replayed.out;
  EXPECT_EQ(ReadText(scratch_ / "again" / kRunWeights), ReadText(run() / kRunWeights));
  // And it can be repeated itself.
  const CommandResult third = Train("third", first + " --replay " + (scratch_ / "again").string());
  EXPECT_EQ(third.code, 0) << third.out;
  EXPECT_EQ(Metrics("third"), Metrics("run"));
}

TEST_F(Replays, RepeatAnEarlyDecayAndWhereARunWasLeft) {
  const std::string first = "plan=true budget=2GiB steps=1000000 hours=0.001";
  const CommandResult trained = Train("run", first);
  ASSERT_EQ(trained.code, 0) << trained.out;
  ASSERT_TRUE(Has(trained.out, "from here on the learning rate falls")) << trained.out;
  const CommandResult replayed = Train("again", first + " --replay " + run().string());
  EXPECT_EQ(replayed.code, 0) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
  EXPECT_FALSE(Metrics("run").empty());
}

TEST_F(Replays, RepeatAnEvaluationThatWasInterruptedAndResumedWithOtherRows) {
  const std::string first = "plan=false hours=0 steps=24 ";
  {
    Background train(TrainLine("run", first + "eval.rows=50000"), scratch_ / "words.txt");
    ASSERT_TRUE(train.WaitUntil([&] { return StepsOf(run()) >= 19; })) << train.words();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // into the evaluation
    train.Interrupt();
    ASSERT_EQ(train.Wait(), 130) << train.words();
  }
  const CommandResult resumed = Resume("eval.rows=6");
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  const CommandResult replayed = Train("again", first + "eval.rows=50000 --replay " + run().string());
  EXPECT_EQ(replayed.code, 0) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
}

// The shares that a stage which was added afterwards ramps from are those of the last one.
TEST_F(Replays, RepeatAStageThatWasAddedAfterTheEnd) {
  const std::string all = kReplayedWeights;
  std::string first_stage = all.substr(0, all.find(",\n{\"name\": \"b\"")) + "]}\n";
  first_stage.replace(first_stage.find("30"), 2, "8");
  WriteText(scratch_ / "template.json", first_stage);
  const std::string first = "plan=false hours=0 steps=40";
  ASSERT_EQ(Train("run", first).code, 0);
  std::string both = all;
  WriteText(run() / kRunWeights, both.replace(both.find("30"), 2, "8"));
  const CommandResult resumed = Resume("");
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "stage b begins")) << resumed.out;
  const CommandResult replayed = Train("again", first + " --replay " + run().string());
  EXPECT_EQ(replayed.code, 0) << replayed.out;
  EXPECT_EQ(Metrics("again"), Metrics("run"));
}

TEST_F(Replays, AnotherConfigIsRefusedWithWhatDiffers) {
  ASSERT_EQ(Train("run", "plan=false hours=0 steps=12").code, 0);
  const CommandResult other =
      Train("again", "plan=false hours=0 steps=13 optimizer.clip_norm=2 --replay " + run().string());
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_TRUE(Has(other.out, "\n  optimizer.clip_norm: 1.0 -> 2.0\n  steps: 12 -> 13")) << other.out;
  EXPECT_FALSE(fs::exists(scratch_ / "again"));
  EXPECT_EQ(Train("again", "--replay " + (scratch_ / "nothing").string()).code, 2);
}

}  // namespace
}  // namespace medley
