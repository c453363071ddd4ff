// docs/writing-a-task.md, followed by a reader: its commands, with its files, in the folders that it makes.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

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
  void Make(const std::string& name) const {
    const CommandResult made = Run(".", ". " + Block(name + "/new.sh"));
    ASSERT_EQ(made.code, 0) << made.out;
    for (const fs::directory_entry& file : fs::directory_iterator(fs::path(MEDLEY_GUIDE) / name))
      fs::copy(file.path(), directory_ / name, fs::copy_options::overwrite_existing);
  }
  // Four steps show that it trains.
  CommandResult Run(const std::string& folder, const std::string& commands) const {
    return Shell("cd " + (directory_ / folder).string() + " && set -e; export PATH=" + Prefix() +
                 "/bin:$PATH XDG_CACHE_HOME=" + (directory_ / "cache").string() +
                 " XDG_STATE_HOME=" + (directory_ / "state").string() +
                 "; medley() { if [ $1 = train ]; then command medley \"$@\" steps=4; else command medley "
                 "\"$@\"; fi; };"
                 "{ " +
                 commands + "\n} 2>&1");
  }
  // What was built for all folders together is not built again: it is put where CMake would put it.
  CommandResult RunBlock(const std::string& name) const {
    const std::string built = "build/lib/medley/" MEDLEY_PLUGIN_FOLDER;
    return Run(name, "cmake() { mkdir -p " + built + " && cp ../" + built + "/" + name + ".so " + built +
                         "; }; . " + Block(name + "/train.sh"));
  }
  static std::string Block(const std::string& path) { return (fs::path(MEDLEY_GUIDE) / path).string(); }
};

// Every folder of the guide is built, by CMake's own commands and as one project, for that is cheaper; passes
// its own tests; and does what its commands say.
TEST_F(Guide, EveryFolderIsBuiltPassesItsOwnTestsAndTrains) {
  const std::vector<std::string> folders = {"recall", "boxes", "riddles", "gesture"};
  for (const std::string& name : folders) ASSERT_NO_FATAL_FAILURE(Make(name));
  Write("CMakeLists.txt", ProjectOf(folders));
  const CommandResult built = Run(".", "cmake -S . -B build -G Ninja && cmake --build build");
  ASSERT_EQ(built.code, 0) << built.out;
  const CommandResult tested = Run(".", "ctest --test-dir build --output-on-failure -j 2");
  EXPECT_EQ(tested.code, 0) << tested.out;
  EXPECT_TRUE(Has(tested.out, "100% tests passed, 0 tests failed out of 8")) << tested.out;
  EXPECT_FALSE(Has(tested.out, "Skipped")) << tested.out;

  const CommandResult recall = RunBlock("recall");
  EXPECT_EQ(recall.code, 0) << recall.out;
  EXPECT_TRUE(Has(recall.out, "pixel_error")) << recall.out;
  const CommandResult boxes = RunBlock("boxes");
  EXPECT_EQ(boxes.code, 0) << boxes.out;
  EXPECT_TRUE(Has(boxes.out, "picture_error")) << boxes.out;
  const CommandResult gesture = RunBlock("gesture");
  EXPECT_EQ(gesture.code, 0) << gesture.out;

  const CommandResult riddles = RunBlock("riddles");
  EXPECT_EQ(riddles.code, 0) << riddles.out;
  EXPECT_FALSE(Has(riddles.out, "the same")) << riddles.out;
  testing::WriteBytes(directory_ / "riddles/riddles.jsonl", "{\"ask\": \"What?\"}\n");
  const CommandResult bad =
      Run("riddles", "medley train run.json --plugin-path build/lib/medley/" MEDLEY_PLUGIN_FOLDER
                     " --out bad tasks.riddles.options.held_out=0");
  EXPECT_EQ(bad.code, 2) << bad.out;
  EXPECT_TRUE(Has(bad.out, "riddles.jsonl:1: \"say\" is missing (there are: ask)")) << bad.out;
}

}  // namespace
}  // namespace medley
