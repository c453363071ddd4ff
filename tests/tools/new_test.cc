// What `medley new` makes, untouched: builds without a warning, passes its test, trains, is above chance. Of
// what trains tools/test tries a slice.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/sweep.h"
#include "tests/tools/installed.h"

namespace medley {
namespace {

using test::Shell;

class NewTest : public test::InstalledTest {
 protected:
  test::CommandResult New(const std::string& words) const {
    return Shell("cd " + directory_.string() + " && " + Prefix() + "/bin/medley new " + words + " 2>&1");
  }
  test::CommandResult Here(const std::string& folder, const std::string& command) const {
    return Shell("cd " + (directory_ / folder).string() +
                 " && export XDG_STATE_HOME=" + (directory_ / "state").string() + " && " + command + " 2>&1");
  }
};

const std::vector<std::string> kKinds = {"reply",   "chat",     "preference", "question",
                                         "picture", "classify", "regress",    "model"};

// All as one project, and a slice of them by another compiler. The program of a test is the same in all
// kinds, so it is built once; beside it each plugin's .check, which tries the same.
TEST_F(NewTest, EveryKindBuildsWithoutAWarningAndPassesItsCheck) {
  std::vector<std::string> folders;
  for (const std::string& kind : test::Slice("NewKinds", kKinds, 3)) {
    folders.push_back("my_" + kind);
    ASSERT_EQ(New(folders.back() + " --kind " + kind).code, 0);
  }
  Write("CMakeLists.txt", ProjectOf(folders));
  for (const std::string compiler : {"clang++", "g++"}) {
    const bool is_gcc = compiler == "g++";
    std::string plugins;
    for (const std::string& folder : is_gcc ? folders : test::Slice("NewWithClang", folders, 3))
      plugins += " " + folder;
    const std::string flags = std::string("-Wall -Wextra -Werror ") + (is_gcc ? kQuickFlags : "");
    const auto built = Here(".", "cmake -S . -G Ninja -B " + compiler + " -Dmedley_ROOT=" + Prefix() +
                                     " -DCMAKE_CXX_COMPILER=" + compiler + " -DCMAKE_CXX_FLAGS='" + flags +
                                     "' && cmake --build " + compiler + " --target" + plugins);
    ASSERT_EQ(built.code, 0) << compiler << '\n' << built.out;
  }
  const auto tested = Here(".", "ctest --test-dir g++ --output-on-failure -R check$");
  EXPECT_EQ(tested.code, 0) << tested.out;
  EXPECT_TRUE(test::Has(tested.out, "tests failed out of " + std::to_string(folders.size()))) << tested.out;
  EXPECT_FALSE(test::Has(tested.out, "Skipped")) << tested.out;
}

// The README, as it stands there.
class NewReadmeTest : public NewTest, public ::testing::WithParamInterface<std::string> {
 protected:
  std::vector<std::string> Commands() const {
    std::istringstream readme(ReadText(directory_ / "mine/README.md"));
    std::vector<std::string> commands;
    bool inside = false;
    for (std::string line; std::getline(readme, line);) {
      if (line.starts_with("```")) {
        inside = !inside;
      } else if (inside) {
        commands.push_back(line);
      }
    }
    return commands;
  }
};

TEST_P(NewReadmeTest, BuildsPassesTrainsAndIsAboveChance) {
  ASSERT_EQ(New("mine --kind " + GetParam()).code, 0);
  setenv("CXXFLAGS", (std::string("-Wall -Wextra -Werror ") + kQuickFlags).c_str(), 1);
  const std::vector<std::string> commands = Commands();
  ASSERT_EQ(commands.size(), 5U);
  for (const std::string& command : commands) {
    const auto done = Here("mine", command);
    ASSERT_EQ(done.code, 0) << command << '\n' << done.out;
  }
  const auto score =
      nlohmann::json::parse(ReadText(directory_ / "mine/run/eval.json")).at("tasks").at("mine");
  if (score.at("chance").is_null()) {
    // Of a picture: better than the best answer that needs no learning.
    for (const auto& [name, trivial] : score.at("trivial").items())
      EXPECT_LT(score.at("high"), trivial) << name << '\n' << score.dump(2);
  } else {
    EXPECT_GT(score.at("low"), score.at("chance")) << score.dump(2);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, NewReadmeTest, ::testing::ValuesIn(test::Slice("NewReadme", kKinds, 6)),
                         [](const auto& kind) { return kind.param; });

TEST_F(NewTest, NothingIsOverwrittenAndNamesAreChecked) {
  ASSERT_EQ(New("mine").code, 0);
  const auto again = New("mine");
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.out.find("mine is already there"), std::string::npos) << again.out;
  for (const std::string& name : {std::string("Mine"), std::string("1st"), std::string("my-task"),
                                  std::string("../mine"), std::string(61, 'a')}) {
    const auto bad = New(name);
    EXPECT_EQ(bad.code, 2) << name;
    EXPECT_NE(bad.out.find("is no name of a task"), std::string::npos) << bad.out;
  }
  for (const char* name : {"test", "picture_task"}) {
    const auto taken = New(name);
    EXPECT_EQ(taken.code, 2) << name;
    EXPECT_NE(taken.out.find("is taken by CMake or medley"), std::string::npos) << taken.out;
  }
  const auto kind = New("other --kind replay");
  EXPECT_EQ(kind.code, 2);
  EXPECT_NE(kind.out.find("reply"), std::string::npos) << kind.out;
  // There is nothing to build a plugin against beside a medley in its build tree.
  const auto tree = Shell("cd " + directory_.string() + " && " + test::Medley() + "new other 2>&1");
  EXPECT_EQ(tree.code, 2);
  EXPECT_NE(tree.out.find("--install " MEDLEY_BUILD_DIR), std::string::npos) << tree.out;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "other"));
}

}  // namespace
}  // namespace medley
