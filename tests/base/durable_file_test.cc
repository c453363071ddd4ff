#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <string>

#include <medley/base/append_file.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

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

TEST(DurableFile, ReservedRoomThatWasNotWrittenIsGivenBack) {
  const ScratchDirectory scratch;
  NewFile file(scratch / "a", 1000);
  file.Write("abc", 3);
  file.Commit();
  EXPECT_EQ(ReadText(scratch / "a"), "abc");
}

}  // namespace
}  // namespace medley
