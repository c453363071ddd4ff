// A run that was repeated by the command: tests/session/replay_test.cc has what else a person may have done
// to it.
#include <gtest/gtest.h>

#include "tests/report/scratch_directory.h"
#include "tests/tools/edited_runs.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

class Replays : public ::testing::Test {
 protected:
  Replays() { WriteText(scratch_ / "template.json", test::kReplayedWeights); }

  CommandResult Train(const std::string& name, const std::string& more) const {
    return Shell(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " +
                 (scratch_ / name).string() + " " + test::kReplayed + (scratch_ / "template.json").string() +
                 " " + more + " 2>&1");
  }
  CommandResult Resume(const std::string& more) const {
    return Shell(Medley() + "resume " + run().string() + " " + more + " 2>&1");
  }
  fs::path run() const { return scratch_ / "run"; }
  std::string Metrics(const std::string& name) const { return ReadText(scratch_ / name / "metrics.jsonl"); }

  ScratchDirectory scratch_;
};

// The shares that a stage which was added afterwards ramps from are those of the last one.
TEST_F(Replays, RepeatAStageThatWasAddedAfterTheEnd) {
  const std::string all = test::kReplayedWeights;
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

}  // namespace
}  // namespace medley
