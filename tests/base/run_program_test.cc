#include <medley/base/run_program.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test::Has;

constexpr milliseconds kLong{20000};

class RunPrograms : public ::testing::Test {
 protected:
  fs::path Script(const std::string& text, const std::string& first = "#!/bin/sh\n") const {
    const fs::path path = scratch_ / "medley-script";
    WriteText(path, first + text);
    ::chmod(path.c_str(), 0755);
    return path;
  }
  ProgramEnd Run(const std::string& text, const std::string& input = "",
                 const std::vector<std::string>& arguments = {}, milliseconds limit = kLong) const {
    std::vector<std::string> command = {Script(text).string(), scratch_.path().string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunProgram(command, input, limit);
  }

  ScratchDirectory scratch_;
};

double SecondsOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(RunPrograms, GetsItsInputAndItsArgumentsAsTheyAre) {
  const ProgramEnd end = Run("cat > \"$1/in\"; shift; printf '%s|' \"$@\" > \"${0%/*}/args\"", "{\"a\": 1}\n",
                             {"two words", "$HOME `id`", ""});
  EXPECT_TRUE(end.ok()) << end.Words();
  EXPECT_EQ(ReadText(scratch_ / "in"), "{\"a\": 1}\n");
  EXPECT_EQ(ReadText(scratch_ / "args"), "two words|$HOME `id`||") << "no shell looks at them";
}

TEST_F(RunPrograms, OneThatReadsNothingKeepsNobodyWaiting) {
  EXPECT_TRUE(Run("exit 0", std::string(1 << 20, 'x')).ok());
}

TEST_F(RunPrograms, HowItEndedAndItsLastWordsAreTold) {
  const ProgramEnd failed = Run("echo lost; echo first >&2; printf 'no\\033[2J network\\n\\n' >&2; exit 3");
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.Words(), "ended with exit code 3: no\\x1b[2J network");
  EXPECT_EQ(Run("exit 4").Words(), "ended with exit code 4");
  EXPECT_TRUE(Has(Run("kill -9 $$").Words(), "was ended by signal 9 ("));
  const ProgramEnd loud = Run("yes | head -c 300000 >&2; echo end >&2; exit 1");
  EXPECT_EQ(loud.Words(), "ended with exit code 1: end");
}

TEST_F(RunPrograms, WhatTakesTooLongIsKilledWithWhatItStarted) {
  ProgramEnd end;
  const double seconds = SecondsOf([&] {
    // On a busy machine it may need more than that until it waits.
    for (milliseconds limit(300); !Has(end.last_words, "waiting") && limit < kLong; limit *= 4)
      end = Run("sleep 60 & echo $! > \"$1/pid\"; echo waiting >&2; wait", "", {}, limit);
  });
  EXPECT_LT(seconds, 60);
  EXPECT_TRUE(end.out_of_time);
  EXPECT_EQ(end.Words(), "was killed, as it took too long: waiting");
  const fs::path sleeper = fs::path("/proc") / std::to_string(std::stoi(ReadText(scratch_ / "pid"))) / "stat";
  for (int i = 0; i < 1000 && Has(ReadText(sleeper), "(sleep) S"); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_FALSE(Has(ReadText(sleeper), "(sleep) S"));
}

TEST_F(RunPrograms, WhatItLeavesBehindIsNotWaitedFor) {
  ProgramEnd end;
  EXPECT_LT(SecondsOf([&] { end = Run("sleep 60 & echo $! > \"$1/pid\"; echo done >&2; exit 2"); }), 30);
  EXPECT_EQ(end.Words(), "ended with exit code 2: done");
  ::kill(std::stoi(ReadText(scratch_ / "pid")), SIGKILL);
}

TEST_F(RunPrograms, HasNoFileOfThisProcessAndAGroupOfItsOwn) {
  const int open = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  ASSERT_GT(open, 2);
  const ProgramEnd end = Run("ls /proc/$$/fd > \"$1/files\"; cut -d' ' -f5 /proc/$$/stat > \"$1/group\"");
  ::close(open);
  ASSERT_TRUE(end.ok()) << end.Words();
  EXPECT_FALSE(Has("\n" + ReadText(scratch_ / "files"), "\n" + std::to_string(open) + "\n"));
  EXPECT_NE(std::stoi(ReadText(scratch_ / "group")), ::getpgrp());
}

TEST_F(RunPrograms, ItsSignalsAreThoseOfAProgramThatBegins) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR1, &ignore, &before);
  sigset_t blocked, mask;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  const ProgramEnd end = Run("kill -USR1 $$; exit 0");
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(end.signal, SIGUSR1) << end.Words();
}

TEST_F(RunPrograms, WhatCannotBeStartedSaysWhy) {
  const ProgramEnd none = RunProgram({(scratch_ / "nothing").string()}, "", kLong);
  EXPECT_TRUE(Has(none.Words(), "cannot be started: No such file")) << none.Words();
  const ProgramEnd bare = RunProgram({Script("exit 0\n", "").string()}, "", kLong);
  EXPECT_TRUE(Has(bare.Words(), "#!/bin/sh")) << bare.Words();
}

TEST_F(RunPrograms, AProgramIsFoundInPathAndElseItIsSaidWhatIsWrong) {
  const fs::path script = Script("exit 0");
  const std::string path = std::getenv("PATH");
  setenv("PATH", ("/nowhere:" + scratch_.path().string() + ":" + path).c_str(), 1);
  EXPECT_EQ(FindProgram("medley-script"), script);
  EXPECT_FALSE(FindProgram("sh").empty());
  const fs::path here = fs::current_path();
  fs::current_path(scratch_.path());
  setenv("PATH", (".::" + path).c_str(), 1);
  EXPECT_EQ(FindProgram("medley-script"), "");
  fs::current_path(here);
  setenv("PATH", (scratch_.path().string() + ":" + path).c_str(), 1);
  ::chmod(script.c_str(), 0644);
  EXPECT_EQ(FindProgram("medley-script"), "");
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(Has(ProgramProblem(script), "medley-script is not executable: chmod +x "))
      << ProgramProblem(script);
  EXPECT_NE(ProgramProblem(scratch_.path()), "");
  EXPECT_NE(ProgramProblem(scratch_ / "nothing"), "");
  ::chmod(script.c_str(), 0755);
  EXPECT_EQ(ProgramProblem(script), "");
}

}  // namespace
}  // namespace medley
