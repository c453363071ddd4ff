#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>

#include <medley/base/append_file.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>

#include "tests/report/scratch_directory.h"

namespace {

// How many calls of fsync fail, and with what; before that, how many are interrupted.
int g_interrupted_syncs = 0, g_failing_syncs = 0, g_syncs = 0;

}  // namespace

// Ours is found before the C library's.
extern "C" int fsync(int fd) {
  ++g_syncs;
  if (g_interrupted_syncs > 0 || g_failing_syncs > 0) {
    errno = g_interrupted_syncs > 0 ? EINTR : EIO;
    --(g_interrupted_syncs > 0 ? g_interrupted_syncs : g_failing_syncs);
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace medley {
namespace {

// The kernel may have dropped the pages, and says that all is well when it is asked again.
TEST(AppendFile, AFailedSyncIsNotAskedAgainAndBelieved) {
  const ScratchDirectory scratch;
  AppendFile file(scratch / "log", 0);
  file.Append("one\n");
  g_failing_syncs = 1;
  EXPECT_THROW(file.Sync(), Error);
  const auto number = [&] {
    struct stat info {};
    ::stat((scratch / "log").c_str(), &info);
    return info.st_ino;
  };
  const ino_t doubtful = number();
  file.Append("two\n");
  file.Sync();
  EXPECT_NE(number(), doubtful) << "what was read again lies in another file";
  file.Append("three\n");
  file.Sync();
  EXPECT_EQ(ReadText(scratch / "log"), "one\ntwo\nthree\n");
  EXPECT_EQ(file.mark(), (LogMark{14, HashText("one\ntwo\nthree\n")}));
}

TEST(AppendFile, WhatAFailedSyncLostIsNeverCalledDurable) {
  const ScratchDirectory scratch;
  AppendFile file(scratch / "log", 0);
  file.Append("one\n");
  g_failing_syncs = 1;
  EXPECT_THROW(file.Sync(), Error);
  WriteText(scratch / "log", "0000");  // as the disk has it, in the same file
  for (int i = 0; i < 2; ++i) {
    try {
      file.Sync();
      ADD_FAILURE() << "believed";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("lost bytes"), std::string::npos) << error.what();
    }
  }
}

TEST(DurableFile, AnInterruptedSyncIsAskedAgain) {
  const ScratchDirectory scratch;
  g_interrupted_syncs = 2;
  g_syncs = 0;
  SyncDirectory(scratch.path());
  EXPECT_EQ(g_syncs, 3);
}

TEST(AppendFile, IsCutBackToTheCommittedOffset) {
  const ScratchDirectory scratch;
  {
    AppendFile file(scratch / "log", 0);
    file.Append("one\n");
    file.Append("two\n");
    file.Sync();
    EXPECT_EQ(file.offset(), 8);
  }
  {
    AppendFile file(scratch / "log", 4);
    file.Append("zwei\n");
  }
  EXPECT_EQ(ReadText(scratch / "log"), "one\nzwei\n");
  EXPECT_THROW(AppendFile(scratch / "log", 100), Error);
}

TEST(AppendFile, LinesThatDoNotFitWaitUntilThereIsRoom) {
  const ScratchDirectory scratch;
  AppendFile file(scratch / "log", 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit small{6, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_NO_THROW(file.Append("one\ntwo\n"));
  std::string message;
  try {
    file.Sync();
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(message.find("log: File too large"), std::string::npos) << message;
  file.Append("three\n");
  file.Sync();
  EXPECT_EQ(ReadText(scratch / "log"), "one\ntwo\nthree\n");
}

TEST(DurableFile, NewFilesNeverOverwriteAndRenamesNeverReplace) {
  const ScratchDirectory scratch;
  WriteText(scratch / "a", "old");
  EXPECT_THROW(NewFile(scratch / "a"), Error);
  std::filesystem::create_directory(scratch / "from");
  std::filesystem::create_directory(scratch / "to");
  EXPECT_THROW(RenameNoReplace(scratch / "from", scratch / "to"), Error);
  EXPECT_TRUE(std::filesystem::exists(scratch / "from"));
  EXPECT_EQ(ReadText(scratch / "a"), "old");
}

TEST(DurableFile, ADirectoryThatCannotBeMadeIsNamedWithTheReason) {
  const ScratchDirectory scratch;
  CreateDirectories(scratch / "a/b");
  CreateDirectories(scratch / "a/b");
  EXPECT_TRUE(std::filesystem::is_directory(scratch / "a/b"));
  WriteText(scratch / "file", "");
  try {
    CreateDirectories(scratch / "file/c");
    FAIL() << "made a directory in a file";
  } catch (const FileError& error) {
    EXPECT_EQ(error.what(),
              "cannot make the directory " + (scratch / "file/c").string() + ": Not a directory");
  }
}

TEST(DurableFile, ReservedRoomThatWasNotWrittenIsGivenBack) {
  const ScratchDirectory scratch;
  NewFile file(scratch / "a", 1000);
  file.Write("abc", 3);
  file.Commit();
  EXPECT_EQ(ReadText(scratch / "a"), "abc");
}

}  // namespace
}  // namespace medley
