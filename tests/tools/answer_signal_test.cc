// What Ctrl-C means to a command that answers, and how its lines come.
#include "tools/medley/answer_signal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/interrupt.h>

namespace medley {
namespace {

TEST(AnswerSignal, TheFirstAsksForAnEndAndIsForgotten) {
  {
    const AnswerSignal signal;
    ::raise(SIGINT);
    EXPECT_TRUE(InterruptAsked());
    ForgetInterrupt();  // as behind an answer
    ::raise(SIGINT);
    EXPECT_TRUE(InterruptAsked());
  }
  EXPECT_FALSE(InterruptAsked());
}

TEST(AnswerSignal, TheSecondEndsTheCommand) {
  const auto twice = [] {
    const AnswerSignal signal;
    ::raise(SIGINT);
    ::raise(SIGINT);
    ::_exit(0);
  };
  EXPECT_EXIT(twice(), ::testing::ExitedWithCode(130), "interrupted; what was not finished is not there");
}

void Count(int) {}

TEST(AnswerSignal, WhatWasThereComesBackAndWhoIgnoresGoesOnDoingSo) {
  struct sigaction before {
  }, found{};
  before.sa_handler = Count;
  ::sigaction(SIGINT, &before, nullptr);
  { const AnswerSignal signal; }
  ::sigaction(SIGINT, nullptr, &found);
  EXPECT_EQ(found.sa_handler, Count);
  ::signal(SIGINT, SIG_IGN);
  {
    const AnswerSignal signal;
    ::raise(SIGINT);
    EXPECT_FALSE(InterruptAsked());
  }
  ::signal(SIGINT, SIG_DFL);
}

// Puts words where the standard input is, which then ends.
class Typed {
 public:
  explicit Typed(std::string_view words) : before_(::dup(STDIN_FILENO)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    EXPECT_EQ(::write(ends[1], words.data(), words.size()), std::ssize(words));
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Typed() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

TEST(InputLines, ComeOneByOneAndTheLastWithoutItsEnd) {
  const Typed typed("one\n\ntwo\r\nlast");
  const AnswerSignal signal;
  InputLines input;
  std::vector<std::string> lines;
  for (std::string line; input.Next(line);) lines.push_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two\r", "last"}));
}

TEST(InputLines, EndWhereAnInterruptIsAskedForAndWhatCameBeforeIsRead) {
  const Typed typed("one\ntwo\n");
  const AnswerSignal signal;
  InputLines input;
  std::string line;
  ASSERT_TRUE(input.Next(line));
  ::raise(SIGINT);
  ASSERT_TRUE(input.Next(line)) << "it stands in the same piece";
  EXPECT_EQ(line, "two");
  EXPECT_FALSE(input.Next(line));
}

}  // namespace
}  // namespace medley
