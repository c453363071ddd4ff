// docs/writing-a-task.md, followed by a reader: its commands, with its files, in the folders that it makes.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/plugin/test_files.h"
#include "tests/tools/installed.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Shell;

class Guide : public test::InstalledTest {
 protected:
  // Makes the folder by the guide's command and puts the guide's files into it.
  void Make(const std::string& name) {
    const CommandResult made = Run(".", ". " + Block(name + "/new.sh"));
    ASSERT_EQ(made.code, 0) << made.out;
    for (const fs::directory_entry& file : fs::directory_iterator(fs::path(MEDLEY_GUIDE) / name))
      fs::copy(file.path(), directory_ / name, fs::copy_options::overwrite_existing);
  }
  // Four steps show that it trains.
  CommandResult Run(const std::string& folder, const std::string& commands) const {
    return Shell("cd " + (directory_ / folder).string() + " && set -e; export PATH=" + Prefix() +
                 "/bin:$PATH XDG_CACHE_HOME=" + directory_.string() +
                 "; medley() { if [ $1 = train ]; then command medley \"$@\" steps=4; else command medley "
                 "\"$@\"; fi; };"
                 "{ " +
                 commands + "\n} 2>&1");
  }
  CommandResult RunBlock(const std::string& name) const {
    return Run(name, ". " + Block(name + "/train.sh"));
  }
  // What medley's own build has built is not built again: it lies where CMake would put it.
  CommandResult RunBlockBuilt(const std::string& name) const {
    return Run(
        name, "cmake() { mkdir -p build/lib/medley/" MEDLEY_PLUGIN_FOLDER " && cp " MEDLEY_GUIDE_PLUGINS "/" +
                  name + ".so build/lib/medley/" MEDLEY_PLUGIN_FOLDER "; }; . " + Block(name + "/train.sh"));
  }
  static std::string Block(const std::string& path) { return (fs::path(MEDLEY_GUIDE) / path).string(); }
};

// Really configured and built, by the guide's own command.
TEST_F(Guide, ATaskWithTwoPassesAndACarryTrains) {
  Make("recall");
  const CommandResult done = RunBlock("recall");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_TRUE(Has(done.out, "pixel_error")) << done.out;
}

TEST_F(Guide, ATaskOverAFileTrainsAndIsNotToldOfTheSameRowsInBothSplits) {
  Make("riddles");
  const CommandResult done = RunBlockBuilt("riddles");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_FALSE(Has(done.out, "the same")) << done.out;
  testing::WriteBytes(directory_ / "riddles/riddles.jsonl", "{\"ask\": \"What?\"}\n");
  const CommandResult bad = Run("riddles", "medley train run.json --plugin-path " MEDLEY_GUIDE_PLUGINS
                                           " --out bad tasks.riddles.options.data=riddles.jsonl "
                                           "tasks.riddles.options.held_out=0");
  EXPECT_EQ(bad.code, 2) << bad.out;
  EXPECT_TRUE(Has(bad.out, "riddles.jsonl:1: \"say\" is missing (there are: ask)")) << bad.out;
}

TEST_F(Guide, AModelOfOnesOwnIsValidatedTrainsAndPassesItsCheck) {
  Make("gesture");
  const CommandResult done = RunBlockBuilt("gesture");
  EXPECT_EQ(done.code, 0) << done.out;
  const CommandResult checked =
      Run("gesture", MEDLEY_GUIDE_CHECK " run.json " MEDLEY_GUIDE_PLUGINS "/gesture.so");
  EXPECT_EQ(checked.code, 0) << checked.out;
}

}  // namespace
}  // namespace medley
