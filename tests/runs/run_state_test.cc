// What became of a run: by its record, and by who holds its lock.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include <medley/checkpoint/run_lock.h>
#include <medley/runs/run_state.h>

#include "tests/runs/made_run.h"
#include "tests/words.h"

namespace medley {
namespace {

using nlohmann::json;
using test::Has;
using test::MadeRun;

json Ended(const char* how, const char* why) {
  return {{"step", 3}, {"how", how}, {"why", why}, {"time", "2026-03-01T13:00:00Z"}};
}

TEST(RunState, IsWhatItsRecordSaysOfItsEnd) {
  const ScratchDirectory scratch;
  const auto words = [&](const json& ended) {
    MadeRun{.ended = ended}.WriteIn(scratch / "run");
    return StateOf(scratch / "run").Words();
  };
  EXPECT_EQ(words(Ended("ended", "all its steps are done")), "ended: all its steps are done");
  EXPECT_EQ(words(Ended("stopped", "it was interrupted")), "stopped: it was interrupted");
  EXPECT_EQ(words(Ended("failed", "no space \x1b[2J left")), "failed: no space \\x1b[2J left");
  EXPECT_EQ(words(nullptr), "stopped") << "an older medley noted no more";
  EXPECT_EQ(words({{"step", 3}, {"why", "its hours are over"}}), "ended: its hours are over") << "likewise";
}

TEST(RunState, IsTrainingWhileItsLockIsHeldAndLostWhereItsProcessIsGone) {
  const ScratchDirectory scratch;
  MadeRun{.ended = Ended("stopped", "before")}.WriteIn(scratch / "run");
  {
    const RunLock lock(scratch / "run");
    const RunState state = StateOf(scratch / "run");
    EXPECT_EQ(state.status, RunStatus::kTraining);
    EXPECT_NE(state.host, "");
    EXPECT_TRUE(Has(state.Words(), "training on " + state.host + " since 20")) << state.Words();
  }
  EXPECT_EQ(StateOf(scratch / "run").status, RunStatus::kStopped) << "it left in good order";
  MadeRun{}.WriteIn(scratch / "run");
  WriteText(scratch / "run/run.lock", R"({"pid": 1, "host": "there"})");
  EXPECT_EQ(StateOf(scratch / "run").Words(), "ended without a word");
  std::filesystem::remove(scratch / "run/run.lock");
  std::filesystem::create_directory(scratch / "run/run.lock");
  EXPECT_EQ(StateOf(scratch / "run").status, RunStatus::kUnknown);
}

// `medley watch` looks every other second, and a resume must not lose against it.
TEST(RunState, WhoLooksKeepsNobodyOut) {
  const ScratchDirectory scratch;
  MadeRun{}.WriteIn(scratch / "run");
  std::atomic<bool> over = false;
  std::thread looking([&] {
    while (!over) StateOf(scratch / "run", nullptr);
  });
  for (int i = 0; i < 50; ++i) {
    WriteText(scratch / "run/run.lock", "{}");
    EXPECT_NO_THROW(RunLock(scratch / "run"));
  }
  over = true;
  looking.join();
}

}  // namespace
}  // namespace medley
