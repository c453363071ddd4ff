#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <medley/base/next_command.h>
#include <medley/base/random.h>

#include "tests/tools/run_command.h"

namespace medley {
namespace {

TEST(ShellWords, AreToAShellWhatTheyWere) {
  std::vector<std::string> words = {"",     "plain", "a b", "it's", "'",  "''\\''", "$HOME",
                                    "`id`", "a\nb",  "~",   "*",    "!x", "-n",     "ä=\"1\""};
  RowRandom random(1);
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (auto size = random.Below(12); size > 0; --size) word += static_cast<char>(1 + random.Below(255));
    words.push_back(word);
  }
  std::string command = "printf '%s\\0'", expected;
  for (const std::string& word : words) {
    command += " " + ShellWord(word);
    expected += word + '\0';
  }
  EXPECT_EQ(test::Shell(command).out, expected);
  EXPECT_EQ(ShellWord("runs/mine-2"), "runs/mine-2") << "no quotes where none are needed";
}

// Half a command is another one.
TEST(NextCommand, IsWholeOrNone) {
  SetNextCommand("medley resume runs/mine");
  EXPECT_EQ(NextCommand(), "medley resume runs/mine");
  EXPECT_EQ(NextCommandLines(ExitCode::kFailed), "next:\n  medley resume runs/mine\n");
  SetNextCommand("medley resume " + std::string(4096, 'x'));
  EXPECT_EQ(NextCommand(), "");
  EXPECT_EQ(NextCommandLines(ExitCode::kFailed), "");
}

}  // namespace
}  // namespace medley
