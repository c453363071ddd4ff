#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <medley/base/file_watch.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

class FileWatchTest : public ::testing::TestWithParam<FileWatch::Method> {};

// File systems keep times of a few milliseconds: without inotify a change within one is not seen.
void LetTimePass() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST_P(FileWatchTest, SeesEveryWayToWriteAFileOnce) {
  const ScratchDirectory scratch;
  const fs::path file = scratch / "weights.json", other = scratch / "other.json";
  WriteText(file, "one");
  LetTimePass();
  FileWatch watch(file, GetParam());
  EXPECT_EQ(watch.method(), GetParam());
  EXPECT_FALSE(watch.Changed());
  const auto seen = [&](const char* how) {
    EXPECT_TRUE(watch.Changed()) << how;
    EXPECT_FALSE(watch.Changed()) << how;
    LetTimePass();
  };
  std::ofstream(file) << "two";
  seen("written in place");
  std::ofstream(file, std::ios::app) << "more";
  seen("appended");
  WriteText(other, "six");
  fs::rename(other, file);
  seen("renamed over");
  fs::remove(file);
  seen("deleted");
  WriteText(file, "six");
  seen("made anew");
  fs::resize_file(file, 0);
  seen("truncated");
  WriteText(other, "nothing to do with it");
  EXPECT_FALSE(watch.Changed());
}

INSTANTIATE_TEST_SUITE_P(Methods, FileWatchTest,
                         ::testing::Values(FileWatch::Method::kInotify, FileWatch::Method::kPolling));

TEST(FileWatch, AFileThatIsNotThereYetIsSeenWhenItComes) {
  const ScratchDirectory scratch;
  FileWatch watch(scratch / "weights.json");
  EXPECT_FALSE(watch.Changed());
  WriteText(scratch / "weights.json", "{}");
  EXPECT_TRUE(watch.Changed());
}

}  // namespace
}  // namespace medley
