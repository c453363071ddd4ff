// docs/writing-a-task.md, followed by a reader: its commands, with its files, in the folders that it makes.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/plugin/test_files.h"
#include "tests/sweep.h"
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

// What a folder's commands print, besides that they succeed.
void ExpectOfGuide(const std::string& name, const std::string& said) {
  EXPECT_EQ(Has(said, "pixel_error"), name == "recall") << said;
  EXPECT_EQ(Has(said, "picture_error"), name == "boxes") << said;
  EXPECT_FALSE(name == "riddles" && Has(said, "the same")) << said;
}

// A folder of the guide is built, by CMake's own commands and all as one project, for that is cheaper; passes
// its own tests; and does what its commands say.
TEST_F(Guide, EveryFolderIsBuiltPassesItsOwnTestsAndTrains) {
  const std::vector<std::string> folders =
      test::Slice("Guide", std::vector<std::string>{"recall", "gesture", "boxes", "riddles"}, 4);
  for (const std::string& name : folders) ASSERT_NO_FATAL_FAILURE(Make(name));
  Write("CMakeLists.txt", ProjectOf(folders));
  const CommandResult built = Run(".", "cmake -S . -B build -G Ninja && cmake --build build");
  ASSERT_EQ(built.code, 0) << built.out;
  const CommandResult tested = Run(".", "ctest --test-dir build --output-on-failure -j 2");
  EXPECT_EQ(tested.code, 0) << tested.out;
  EXPECT_TRUE(Has(tested.out, "tests failed out of " + std::to_string(2 * folders.size()))) << tested.out;
  EXPECT_FALSE(Has(tested.out, "Skipped")) << tested.out;
  for (const std::string& name : folders) {
    const CommandResult done = RunBlock(name);
    EXPECT_EQ(done.code, 0) << name << '\n' << done.out;
    ExpectOfGuide(name, done.out);
  }
  if (folders.back() != "riddles") return;
  testing::WriteBytes(directory_ / "riddles/riddles.jsonl", "{\"ask\": \"What?\"}\n");
  const CommandResult bad =
      Run("riddles", "medley train run.json --plugin-path build/lib/medley/" MEDLEY_PLUGIN_FOLDER
                     " --out bad tasks.riddles.options.held_out=0");
  EXPECT_EQ(bad.code, 2) << bad.out;
  EXPECT_TRUE(Has(bad.out, "riddles.jsonl:1: \"say\" is missing (there are: ask)")) << bad.out;
}

}  // namespace
}  // namespace medley
