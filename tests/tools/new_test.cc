// What `medley new` makes, untouched: builds without a warning, passes its test, trains, is above chance.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/installed.h"

namespace medley {
namespace {

using test::Shell;

class NewTest : public test::InstalledTest, public ::testing::WithParamInterface<const char*> {
 protected:
  test::CommandResult New(const std::string& words) const {
    return Shell("cd " + directory_.string() + " && " + Prefix() + "/bin/medley new " + words + " 2>&1");
  }
  // A line of the README, from the folder.
  test::CommandResult Here(const std::string& command) const {
    return Shell("cd " + (directory_ / "mine").string() +
                 " && export XDG_STATE_HOME=" + (directory_ / "state").string() + " && " + command + " 2>&1");
  }
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

TEST_P(NewTest, BuildsPassesTrainsAndIsAboveChance) {
  ASSERT_EQ(New("mine --kind " + std::string(GetParam())).code, 0);
  // The other compiler first: what is left in the folder is the README's. The test is the same in all kinds.
  const bool whole = std::string(GetParam()) == "reply";
  const auto clang = Here("cmake -S . -B other -Dmedley_ROOT=" + Prefix() +
                          " -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror' && "
                          "cmake --build other" +
                          (whole ? "" : " --target mine"));
  ASSERT_EQ(clang.code, 0) << clang.out;
  setenv("CXXFLAGS", "-Wall -Wextra -Werror", 1);
  const std::vector<std::string> commands = Commands();
  ASSERT_EQ(commands.size(), 5U);
  for (const std::string& command : commands) {
    const auto done = Here(command);
    ASSERT_EQ(done.code, 0) << command << '\n' << done.out;
  }
  unsetenv("CXXFLAGS");
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

INSTANTIATE_TEST_SUITE_P(Kinds, NewTest,
                         ::testing::Values("reply", "question", "picture", "classify", "regress", "model"),
                         [](const auto& kind) { return std::string(kind.param); });

using NewMistakesTest = NewTest;

TEST_P(NewMistakesTest, NothingIsOverwrittenAndNamesAreChecked) {
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

INSTANTIATE_TEST_SUITE_P(Once, NewMistakesTest, ::testing::Values(""));

}  // namespace
}  // namespace medley
