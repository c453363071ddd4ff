// Which file a task's code comes from: what a user named is used, or nothing is done.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <medley/plugin/registry.h>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

const std::string kConfig = MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json";
const fs::path kShipped = MEDLEY_BUILD_DIR "/lib/medley/" MEDLEY_PLUGIN_FOLDER "/zoom.so";

std::string TrainCommand(const fs::path& out, const std::string& more) {
  std::string command = Medley() + "train " + kConfig + " --out " + out.string() +
                        " threads=1 plan=false steps=2 eval.every=0 tensorboard=false";
  for (const char* task :
       {"control", "arrow_to_gold", "position_qa", "zoom_agent", "zoom_gold", "zoom_halfway"})
    command += " tasks." + std::string(task) + ".rows=2";
  return command + " " + more + " 2>&1";
}

// The shipped plugin under another build id, so that the two files differ.
void WriteOtherBuild(const fs::path& to) {
  const Registry registry = Registry::Scan({{kShipped}, false, false, false});
  const std::string id = registry.files().at(0).build_id;
  std::string bytes = testing::ReadBytes(kShipped), raw;
  for (std::size_t i = 0; i < id.size(); i += 2)
    raw += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  const std::size_t at = bytes.find(raw);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  testing::WriteBytes(to, bytes);
}

TEST(PluginPath, WhatIsNamedAndCannotBeUsedIsAnErrorOfEveryVerb) {
  const testing::TempDirectory scratch;
  const fs::path mine = scratch / "mine", cut = scratch / "cut.so";
  fs::create_directory(mine);
  fs::copy_file(kShipped, mine / "zoom.so");
  fs::permissions(mine, fs::perms::others_write, fs::perm_options::add);
  testing::WriteBytes(cut, testing::ReadBytes(kShipped).substr(0, 5000));
  for (const fs::path& named : {mine, cut, scratch / "nowhere"}) {
    const std::string argument = " --plugin-path " + named.string() + " 2>&1";
    for (const std::string& command :
         {TrainCommand(scratch / "run", "--plugin-path " + named.string()),
          Medley() + "validate " + kConfig + argument, Medley() + "plan " + kConfig + argument,
          Medley() + "estimate " + kConfig + argument, Medley() + "sample zoom_gold" + argument,
          Medley() + "tasks" + argument,
          "MEDLEY_PLUGIN_PATH=" + named.string() + " " + Medley() + "validate " + kConfig + " 2>&1"}) {
      const CommandResult result = Shell(command);
      EXPECT_EQ(result.code, 2) << command << "\n" << result.out;
      EXPECT_TRUE(Has(result.out, named.filename().string())) << result.out;
    }
  }
  EXPECT_FALSE(fs::exists(scratch / "run"));
}

// A graph, a deleter and a thread of a plugin are there to the end.
TEST(PluginPath, ARunEndsWellWhateverAPluginKeeps) {
  const testing::TempDirectory scratch;
  testing::WriteBytes(scratch / "weights.json", R"({"weights": {"outlives_the_run": 1}})");
  const fs::path plugin =
      fs::path(MEDLEY_BUILD_DIR) / "tests/plugin/fixtures/outlives_the_run/outlives_the_run.so";
  const CommandResult trained = Shell(
      Medley() + "train " + kConfig + " --out " + (scratch / "run").string() +
      " threads=1 steps=2 eval.every=0 tensorboard=false weights=" + (scratch / "weights.json").string() +
      " --plugin-path " + plugin.string() + " 2>&1");
  EXPECT_EQ(trained.code, 0) << trained.out;
}

TEST(PluginPath, AResumeNeverTakesAnotherPluginInSilence) {
  const testing::TempDirectory scratch;
  const fs::path mine = scratch / "mine", run = scratch / "run";
  fs::create_directory(mine);
  WriteOtherBuild(mine / "zoom.so");
  const CommandResult trained = Shell("MEDLEY_PLUGIN_PATH=" + mine.string() + " " + TrainCommand(run, ""));
  ASSERT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "the task zoom_gold comes from " + (mine / "zoom.so").string() +
                                   ", not from " + kShipped.string()))
      << trained.out;
  testing::WriteBytes(scratch / "weights.json", R"({"weights": {"zoom_gold": 1}})");
  const std::string small =
      kConfig + " tasks.zoom_gold.rows=1 weights=" + (scratch / "weights.json").string();
  for (const std::string& verb :
       {"plan " + small, "estimate " + small, "sample zoom_gold --out " + (scratch / "zoom.png").string(),
        "eval " + run.string() + " --rows 2"}) {
    const CommandResult said = Shell("MEDLEY_PLUGIN_PATH=" + mine.string() + " " + Medley() + verb + " 2>&1");
    EXPECT_TRUE(Has(said.out, "the task zoom_gold comes from " + (mine / "zoom.so").string()))
        << verb << ": " << said.out;
  }
  const std::string resume = Medley() + "resume " + run.string() + " --steps 3 2>&1";
  const CommandResult other = Shell(resume);
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_TRUE(Has(other.out, "zoom_") && Has(other.out, (mine / "zoom.so").string()) &&
              Has(other.out, "another plugin"))
      << other.out;
  const CommandResult scored = Shell(Medley() + "eval " + run.string() + " --rows 2 2>&1");
  EXPECT_EQ(scored.code, 2) << scored.out;
  EXPECT_EQ(Shell("MEDLEY_PLUGIN_PATH=" + mine.string() + " " + resume).code, 0);
  // The same build under another name is the same plugin.
  fs::create_directory(scratch / "moved");
  fs::rename(mine / "zoom.so", scratch / "moved" / "zoom.so");
  const CommandResult moved = Shell("MEDLEY_PLUGIN_PATH=" + (scratch / "moved").string() + " " + Medley() +
                                    "resume " + run.string() + " --steps 4 2>&1");
  EXPECT_EQ(moved.code, 0) << moved.out;
}

}  // namespace
}  // namespace medley
