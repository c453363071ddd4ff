// medley sweep: real runs, as small as they come.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include <medley/checkpoint/run_lock.h>
#include <medley/runs/run_state.h>

#include "tests/follows_schema.h"
#include "tests/tools/background.h"
#include "tests/tools/trouble_run.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Background;
using test::CommandResult;
using test::Has;
using test::PlainMedley;
using test::Shell;
using test::TroubleRun;

json ResultIn(const std::string& out) {
  const json schema = json::parse(ReadText(MEDLEY_SOURCE_DIR "/configs/schema/sweep-output.schema.json"));
  const json result = json::parse(out, nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(test::SchemaMistakes(schema, result), "") << out;
  return result;
}

// A process of it is to be this program's, not a test's server.
std::string Sweep(const TroubleRun& files, const std::string& more) {
  return PlainMedley() + "sweep " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --plugin-path " +
         TroubleRun::Plugin().string() + " --out " + (files / "sweep").string() + " " + files.Overrides() +
         " eval.rows=2 " + more;
}

// Killed as no handler can see, and once more by Ctrl-C; then the same command ends it.
TEST(SweepCommand, GoesOnAfterAKillWithWhatIsNotOverAndStartsNothingTwice) {
  const TroubleRun files;
  const fs::path out = files / "sweep", first = out / "learning_rate=1e-3/seed-1";
  const std::string command =
      Sweep(files,
            "steps=20 plan=true optimizer.learning_rate=1e-3,1e-4 --seeds 2 --jobs 2 budget=1GiB "
            "tasks.trouble.options.pass_ms=100");
  const auto steps = [&] {
    std::int64_t all = 0;
    for (const std::string rate : {"1e-3", "1e-4"})
      for (const std::string seed : {"1", "2"})
        all += test::StepsOf(out / ("learning_rate=" + rate) / ("seed-" + seed));
    return all;
  };
  {
    Background sweep(command, files / "killed");
    ASSERT_TRUE(sweep.WaitUntil([&] { return test::StepsOf(first) >= 1; })) << sweep.words();
    const CommandResult second = Shell(command + " 2>&1");
    EXPECT_EQ(second.code, 2) << second.out;
    EXPECT_TRUE(Has(second.out, "is in use by process")) << second.out;
    sweep.Signal(SIGKILL);
    EXPECT_EQ(sweep.Wait(), 128 + SIGKILL);
    EXPECT_TRUE(Has(sweep.words(), "4 runs in ")) << sweep.words();
    EXPECT_TRUE(Has(sweep.words(), "2 jobs: 512 MiB and one thread each")) << sweep.words();
  }
  {
    // Its runs were asked to end, and may still save.
    const std::int64_t before = steps();
    Background sweep(command, files / "stopped");
    ASSERT_TRUE(sweep.WaitUntil([&] {
      const bool starts = Has(sweep.words(), "goes on") || Has(sweep.words(), "begins");
      return starts && steps() > before;
    })) << sweep.words();
    sweep.Interrupt();
    EXPECT_EQ(sweep.Wait(), 130) << sweep.words();
    EXPECT_TRUE(Has(sweep.words(), "\nnext:\n  medley sweep ")) << sweep.words();
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out)) {
      if (entry.path().filename() != "run.lock") continue;
      EXPECT_EQ(HolderOf(entry.path().parent_path()).state, RunHolder::State::kNone) << entry.path();
    }
  }
  const test::AwakeTrouble awake;
  const CommandResult whole = Shell(command + " --json 2>" + (files / "err").string());
  ASSERT_EQ(whole.code, 0) << ReadText(files / "err");
  const json result = ResultIn(whole.out);
  ASSERT_EQ(result.at("runs").size(), 4U);
  int probed = 0;
  for (const json& run : result.at("runs")) {
    EXPECT_EQ(run.at("state"), "done") << run;
    EXPECT_EQ(run.at("step"), 20) << run;
    const fs::path path = run.at("path").get<std::string>();
    EXPECT_EQ(test::StepsOf(path), 20) << "no step is there twice: " << path;
    probed += json::parse(ReadText(path / "plan.json")).at("planning").at("steps").get<int>() > 0 ? 1 : 0;
    const json config = json::parse(ReadText(path / "config.resolved.json"));
    EXPECT_EQ(config.at("seed"), run.at("seed"));
    EXPECT_EQ(config.at("budget"), "512MiB");
  }
  EXPECT_EQ(probed, 1) << "one profile for all";
  EXPECT_EQ(result.at("compared").at("groups").size(), 2U);
  EXPECT_EQ(result.at("compared").at("before"), json::array()) << "a resume makes no run another";
  EXPECT_TRUE(Has(ReadText(out / "sweep.html"), "<html")) << result.at("page");

  const CommandResult again = Shell(command + " 2>&1");
  EXPECT_EQ(again.code, 0) << again.out;
  EXPECT_FALSE(Has(again.out, "begins")) << again.out;
  EXPECT_FALSE(Has(again.out, "goes on")) << again.out;
  const CommandResult other = Shell(command + " optimizer.beta1=0.8 2>&1");
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_TRUE(Has(other.out, "begun without optimizer.beta1=0.8")) << other.out;
}

TEST(SweepCommand, ARunThatFailsIsToldAndTheOthersGoOn) {
  const TroubleRun files;
  const std::string command = Sweep(files, "steps=6 plan=false tasks.trouble.options.fails_at=2,0 2>&1");
  const CommandResult swept = Shell(command);
  EXPECT_EQ(swept.code, 3) << swept.out;
  EXPECT_TRUE(Has(swept.out, "fails_at=2/seed-1 failed: ")) << swept.out;
  EXPECT_TRUE(Has(swept.out, "these rows are meant to fail in a caf\\xe9")) << swept.out;
  EXPECT_TRUE(Has(swept.out, "fails_at=0/seed-1 is done")) << swept.out;
  // It was scored, as no evaluation was due while it trained.
  EXPECT_TRUE(fs::exists(files / "sweep/fails_at=0/seed-1/eval.json"));
}

TEST(SweepCommand, WhereNoRunIsDoneItFailed) {
  const TroubleRun files;
  const CommandResult swept =
      Shell(Sweep(files, "steps=6 plan=false tasks.trouble.options.dies_at=2,4 --jobs 2 2>&1"));
  EXPECT_EQ(swept.code, 1) << swept.out;
  EXPECT_TRUE(Has(swept.out, "dies_at=2/seed-1 failed: it was ended by a signal")) << swept.out;
}

// As on a full disk: of files that may not grow.
TEST(SweepCommand, WithoutSpaceItSaysSoAndDoesNotCrash) {
  const TroubleRun files;
  const std::string runs = Sweep(files, "steps=1 plan=false seed=1,2 2>&1");
  const CommandResult none = Shell("ulimit -f 0; " + runs);
  EXPECT_EQ(none.code, 1) << none.out;
  EXPECT_TRUE(Has(none.out, "sweep.json")) << none.out;
  const CommandResult little = Shell("ulimit -f 4; " + runs);  // 2 KiB
  EXPECT_EQ(little.code, 1) << little.out;
  for (const char* part : {"seed-1 failed: ", "seed-2 failed: ", "File too large"})
    EXPECT_TRUE(Has(little.out, part)) << part << "\n" << little.out;
}

// Nothing is made, and nothing runs.
TEST(SweepCommand, WhatIsWrongIsToldBeforeAnythingRuns) {
  const TroubleRun files;
  const auto refusal = [&](const std::string& more) {
    const CommandResult refused = Shell(Sweep(files, more + " 2>&1"));
    EXPECT_EQ(refused.code, 2) << more << refused.out;
    EXPECT_FALSE(fs::exists(files / "sweep")) << more;
    return refused.out;
  };
  EXPECT_TRUE(Has(refusal("steps=3"), "nothing differs between the runs")) << refusal("steps=3");
  EXPECT_TRUE(Has(refusal("seed=1,2 --seeds 3"), "leave one out"));
  EXPECT_TRUE(Has(refusal("steps=3 seed=1,9007199254740992"), "9007199254740991, the largest"));
  const std::string words = refusal("optimizer.lerning_rate=1,2 steps=5,many tasks.zoom_gold.rows=2,0");
  EXPECT_TRUE(Has(words, "did you mean 'learning_rate'")) << words;
  EXPECT_TRUE(Has(words, "steps: expected")) << words;
  EXPECT_TRUE(Has(words, "tasks.zoom_gold.rows: ")) << words;
  const std::string bad = (files / "bad.json").string();
  WriteText(bad, "{\n  \"unit\": \"rows\",\n  \"weights\": {\"contrl\": 1}\n}");
  const CommandResult file =
      Shell(PlainMedley() + "sweep " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " +
            (files / "sweep").string() + " steps=1,2 weights=" + bad + " 2>&1");
  EXPECT_EQ(file.code, 2) << file.out;
  EXPECT_TRUE(Has(file.out, "bad.json:3:")) << file.out;
  EXPECT_TRUE(Has(Shell("WORLD_SIZE=2 " + Sweep(files, "steps=1,2 2>&1")).out, "without medley launch"));
}

TEST(SweepCommand, ADryRunListsCommandsAndWritesNothing) {
  const TroubleRun files;
  const CommandResult listed = Shell(Sweep(files, "steps=1,2 seed=3,9 --dry-run 2>&1"));
  EXPECT_EQ(listed.code, 0) << listed.out;
  EXPECT_FALSE(fs::exists(files / "sweep"));
  for (const char* part :
       {"steps=2/seed-9  new\n  medley train ", " seed=9\n", "how long they take is known once", "4 runs in ",
        "2 values of steps, 2 seeds (3, 9)"})
    EXPECT_TRUE(Has(listed.out, part)) << part << "\n" << listed.out;
  const json result = ResultIn(Shell(Sweep(files, "steps=1,2 seed=3,9 --dry-run --json 2>/dev/null")).out);
  EXPECT_EQ(result.at("runs").size(), 4U);
  EXPECT_TRUE(result.at("seconds_left").is_null());
}

}  // namespace
}  // namespace medley
