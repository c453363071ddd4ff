// Ctrl-C and crashes of the command whose task is slow, or breaks. tests/session/interrupt_test.cc has what
// else becomes of such a run.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include <medley/base/file_digest.h>
#include <medley/checkpoint/checkpoint_files.h>

#include "tests/tools/background.h"
#include "tests/tools/trouble_run.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test::Background;
using test::CommandResult;
using test::Has;
using test::LineCount;
using test::Medley;
using test::Shell;
using test::TroubleRun;

// What must be the same again, however a run came to its end.
std::string EndState(const fs::path& run) {
  const fs::path checkpoint = ListCheckpoints(run).at(0).path;
  std::string state = checkpoint.filename().string();
  for (const char* name : {"model.safetensors", "optim.safetensors"})
    state += " " + HashText(ReadText(checkpoint / name));
  auto sections = nlohmann::ordered_json::parse(ReadText(checkpoint / "state.json"));
  sections.erase("receipt");
  return state + "\n" + sections.dump() + "\n" + ReadText(run / "metrics.jsonl") +
         ReadText(run / "losses.csv");
}

std::string Resume(const TroubleRun& trouble) { return Medley() + "resume " + trouble.run().string(); }

TEST(Interrupt, AStepIsGivenUpAtOnceAndDoneAgainAfterAResume) {
  const std::string settings = "steps=2 draws_per_step=24";
  const TroubleRun whole, trouble;
  ASSERT_EQ(Shell(whole.Train(settings)).code, 0);
  Background train(trouble.Command("train", "--out " + trouble.run().string() + " plan=false " + settings +
                                                " tasks.trouble.options.pass_ms=200"),
                   trouble / "words");
  ASSERT_TRUE(train.WaitUntil([&] { return LineCount(trouble.run() / "timing.jsonl") >= 1; }))
      << train.words();
  std::this_thread::sleep_for(milliseconds(100));
  train.Interrupt();
  EXPECT_EQ(train.Wait(), 130) << train.words();
  EXPECT_LT(train.seconds_to_end(), test::kSoon) << train.words();
  EXPECT_TRUE(Has(train.words(), "saved step 1\n")) << train.words();
  EXPECT_TRUE(train.words().ends_with("\nnext:\n  medley resume " + trouble.run().string() + "\n"))
      << train.words();
  const test::AwakeTrouble awake;
  const CommandResult resumed = Shell(Resume(trouble) + " 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(EndState(trouble.run()), EndState(whole.run()));
}

// Into a directory whose name a shell would cut in two.
TEST(Interrupt, PlanningIsGivenUpAtOnceAndWhatIsSaidLastBegins) {
  const TroubleRun trouble;
  const fs::path run = trouble / "it's a run";
  Background train(trouble.Command("train", "--out \"" + run.string() +
                                                "\" steps=2 plan=true tasks.trouble.options.pass_ms=1500"),
                   trouble / "words");
  ASSERT_TRUE(train.WaitUntil([&] { return Has(train.words(), "measuring what the tasks take"); }))
      << train.words();
  std::this_thread::sleep_for(milliseconds(200));
  train.Interrupt();
  EXPECT_EQ(train.Wait(), 130) << train.words();
  EXPECT_LT(train.seconds_to_end(), test::kBeforeAllIsPlanned) << train.words();
  EXPECT_TRUE(
      Has(train.words(), "interrupted before the first step: nothing was trained, and nothing is saved"))
      << train.words();
  EXPECT_FALSE(fs::exists(run));
  const test::AwakeTrouble awake;
  const CommandResult begun = test::Printed(test::LastCommand(train.words()));
  EXPECT_EQ(begun.code, 0) << begun.out;
  EXPECT_EQ(ListCheckpoints(run).at(0).step, 2);
}

// A resume would go on with it as a run of its own.
TEST(Interrupt, AReplayEndsWithTheCommandThatRepeatsItToItsEnd) {
  const std::string settings = " plan=false steps=10 draws_per_step=8 tasks.trouble.options.pass_ms=100";
  const TroubleRun trouble;
  {
    const test::AwakeTrouble awake;
    ASSERT_EQ(Shell(trouble.Train(settings)).code, 0);
  }
  const fs::path again = trouble / "again", anew = trouble / "again-2";
  Background replay(
      trouble.Command("train", "--replay " + trouble.run().string() + " --out " + again.string() + settings),
      trouble / "words");
  ASSERT_TRUE(replay.WaitUntil([&] { return LineCount(again / "timing.jsonl") >= 1; })) << replay.words();
  replay.Interrupt();
  EXPECT_EQ(replay.Wait(), 130) << replay.words();
  EXPECT_TRUE(Has(replay.words(), "a replay begins anew, in another directory")) << replay.words();
  const test::AwakeTrouble awake;
  const CommandResult repeated = test::Printed(test::LastCommand(replay.words()));
  EXPECT_EQ(repeated.code, 0) << replay.words() << repeated.out;
  EXPECT_EQ(ReadText(anew / "metrics.jsonl"), ReadText(trouble.run() / "metrics.jsonl"));
}

TEST(Crash, SaysWhoseCodeRanAndEndsAsItWouldHave) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE}) {
    for (const std::string threads : {"0", "1"}) {
      const TroubleRun trouble;
      const CommandResult result =
          Shell("ulimit -c 0; " +
                trouble.Train("steps=8 checkpoint.every=1 tasks.trouble.options.dies_at=4 "
                              "data.threads=" +
                              threads + " tasks.trouble.options.deadly_signal=" + std::to_string(signal)));
      EXPECT_EQ(result.code, 128 + signal) << result.out;
      EXPECT_TRUE(Has(result.out, "medley: crashed (SIG")) << result.out;
      EXPECT_TRUE(Has(result.out, "in plugin 'trouble' (task trouble, while sampling rows 4.."))
          << result.out;
      EXPECT_TRUE(Has(result.out, "medley resume " + trouble.run().string() + " goes on")) << result.out;
      // A data thread may come to the row before the first step is saved.
      if (threads == "0") {
        EXPECT_FALSE(ListCheckpoints(trouble.run()).empty());
      }
    }
  }
}

}  // namespace
}  // namespace medley
