// A config's on_event, as a person runs the command. tests/session/on_event_test.cc has what it hears.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/tools/background.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"
#include "tests/train/on_event.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Background;
using test::CommandResult;
using test::Has;
using test::Listener;
using test::Medley;
using test::Shell;

class OnEventOfAConfig : public ::testing::Test {
 protected:
  std::string Train(const std::string& more) const {
    return Medley() + "train " + (scratch_ / "run.json").string() + " --out " + run() + " " + more;
  }
  std::string run() const { return (scratch_ / "run").string(); }
  // A config of somebody's, who gave the program along.
  void Write(const fs::path& program, std::int64_t steps) const {
    const fs::path configs = MEDLEY_SOURCE_DIR "/configs";
    WriteText(scratch_ / "weights.json", test::kOneTaskWeights);
    const nlohmann::ordered_json config = {{"model", (configs / "models/agent-tiny.json").string()},
                                           {"tokenizer", (configs / "tokenizers/small.model").string()},
                                           {"control_text", (configs / "texts/control.txt").string()},
                                           {"weights", "weights.json"},
                                           {"threads", 1},
                                           {"plan", false},
                                           {"steps", steps},
                                           {"eval", {{"rows", 4}}},
                                           {"checkpoint", {{"every", 1}}},
                                           {"tasks", {{"control", {{"rows", 2}}}}},
                                           {"on_event", {"./" + program.filename().string(), "night runs"}}};
    WriteText(scratch_ / "run.json", config.dump(2));
  }

  ScratchDirectory scratch_;
  const test::FreshState state_{scratch_ / "state"};
};

TEST_F(OnEventOfAConfig, IsAskedForOnceAndRunsThenAlsoAtAResume) {
  const Listener listener(scratch_.path());
  Write(listener.path(), 2);
  const CommandResult refused = Shell(Train("2>&1"));
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, listener.path().string() + " 'night runs'") &&
              Has(refused.out, "--allow-on-event"))
      << refused.out;
  const CommandResult allowed = Shell(Train("--allow-on-event 2>&1"));
  ASSERT_EQ(allowed.code, 0) << allowed.out;
  EXPECT_EQ(listener.Words(), "checkpoint 1, checkpoint 2, end 2");
  const CommandResult resumed = Shell(Medley() + "resume " + run() + " --steps 3 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(listener.Words(), "checkpoint 1, checkpoint 2, end 2, checkpoint 3, end 3");
  for (const std::string verb : {"eval", "report"}) {
    const test::FreshState another(scratch_ / "other user");
    const CommandResult read = Shell(Medley() + verb + " " + run() + " 2>&1");
    EXPECT_EQ(read.code, 0) << verb << read.out;
  }
  EXPECT_EQ(listener.Heard().size(), 5U);
}

// A terminal sends it to all of the command's group.
TEST_F(OnEventOfAConfig, ACtrlCEndsTheRunAndNotItsProgram) {
  const fs::path parent = scratch_ / "parent", whole = scratch_ / "whole";
  const std::string file = "\"" + parent.string() + "\"", made = "\"" + parent.string() + ".new\"";
  const Listener listener(scratch_.path(), "echo $PPID > " + made + "; mv " + made + " " + file +
                                               "; sleep 0.1; echo whole >> \"" + whole.string() + "\"");
  Write(listener.path(), 100000);
  Background train("setsid " + Train("--allow-on-event"), scratch_ / "words");
  ASSERT_TRUE(train.WaitUntil([&] { return test::LineCount(parent) == 1; })) << train.words();
  ASSERT_EQ(::kill(-std::stoi(ReadText(parent)), SIGINT), 0);
  EXPECT_EQ(train.Wait(), 130) << train.words();
  EXPECT_EQ(listener.Heard().back().at("why"), "it was interrupted");
  EXPECT_EQ(test::LineCount(whole), static_cast<std::int64_t>(listener.Heard().size())) << train.words();
  EXPECT_FALSE(Has(train.words(), "was ended by")) << train.words();
}

}  // namespace
}  // namespace medley
