#include <medley/base/output_file.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <medley/base/descriptor.h>
#include <medley/base/error.h>
#include <medley/base/new_folder.h>

#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

std::string Refusal(const fs::path& named) {
  try {
    OutputFile(named).Write("new");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

mode_t ModeOf(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

std::size_t FilesIn(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class OutputFiles : public ::testing::Test {
 protected:
  ScratchDirectory scratch_;
};

TEST_F(OutputFiles, AreMadeOrReplacedAsAWholeWithThePermissionsThatTheyHad) {
  OutputFile(scratch_ / "new").Write("bytes");
  EXPECT_EQ(ReadText(scratch_ / "new"), "bytes");
  for (const mode_t mode : {0600, 0664, 0755}) {
    ASSERT_EQ(::chmod((scratch_ / "new").c_str(), mode), 0);
    const Descriptor reader(scratch_ / "new", O_RDONLY);
    const OutputFile file(scratch_ / "new");
    EXPECT_TRUE(file.holds_bytes());
    file.Write("other bytes");
    EXPECT_EQ(ModeOf(scratch_ / "new"), mode);
    char old[6] = {};
    EXPECT_GE(::read(reader.get(), old, 5), 5);
    EXPECT_NE(std::string(old), "") << "who reads it keeps the old one";
  }
  EXPECT_EQ(ReadText(scratch_ / "new"), "other bytes");
  EXPECT_EQ(FilesIn(scratch_.path()), 1u) << "nothing is left beside it";
}

TEST_F(OutputFiles, AnEmptyOneHoldsNothingThatCouldBeLost) {
  WriteText(scratch_ / "empty", "");
  const OutputFile file(scratch_ / "empty");
  EXPECT_TRUE(file.is_there() && !file.holds_bytes() && !file.is_read_only());
  ASSERT_EQ(::chmod((scratch_ / "empty").c_str(), 0444), 0);
  EXPECT_TRUE(OutputFile(scratch_ / "empty").is_read_only()) << "also for root";
}

TEST_F(OutputFiles, LinksStayAndWhatTheyLeadToIsWritten) {
  fs::create_directory(scratch_ / "far");
  WriteText(scratch_ / "far/target", "old");
  fs::create_symlink("far/target", scratch_ / "one");
  fs::create_symlink("one", scratch_ / "two");
  fs::create_symlink(scratch_ / "far", scratch_ / "folder");
  fs::create_symlink("folder/../far/made", scratch_ / "dangling");
  OutputFile(scratch_ / "two").Write("new");
  EXPECT_EQ(ReadText(scratch_ / "far/target"), "new");
  OutputFile(scratch_ / "folder/target").Write("newer");
  EXPECT_EQ(ReadText(scratch_ / "far/target"), "newer");
  EXPECT_EQ(OutputFile(scratch_ / "dangling").path(), fs::canonical(scratch_ / "far") / "made");
  EXPECT_FALSE(OutputFile(scratch_ / "dangling").is_there());
  OutputFile(scratch_ / "dangling").Write("made");
  EXPECT_EQ(ReadText(scratch_ / "far/made"), "made");
  for (const char* link : {"one", "two", "folder", "dangling"})
    EXPECT_TRUE(fs::is_symlink(scratch_ / link)) << link;
  EXPECT_EQ(FilesIn(scratch_ / "far"), 2u);
}

TEST_F(OutputFiles, AFifoIsWrittenToAndStays) {
  const fs::path fifo = scratch_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink("fifo", scratch_ / "link");
  const std::string text(300'000, 'x');  // more than a pipe holds
  for (const char* name : {"fifo", "link"}) {
    std::string got;
    std::thread reader([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it may come after the writer
      got = ReadText(fifo);
    });
    const OutputFile file(scratch_ / name);
    EXPECT_TRUE(file.is_stream() && !file.holds_bytes());
    file.Write(text);
    reader.join();
    EXPECT_EQ(got, text) << name;
    EXPECT_TRUE(fs::is_fifo(fifo));
  }
}

TEST_F(OutputFiles, AReaderThatGoesAwayIsAnErrorAndNoSignal) {
  const fs::path fifo = scratch_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::thread reader([&] {
    const Descriptor file(fifo, O_RDONLY);
    char byte = 0;
    EXPECT_EQ(::read(file.get(), &byte, 1), 1);
  });
  std::string words;
  try {
    OutputFile(fifo).Write(std::string(1 << 20, 'x'));
  } catch (const InputError& error) {
    words = error.what();
  }
  reader.join();
  EXPECT_TRUE(test::Has(words, "Broken pipe")) << words;
}

TEST_F(OutputFiles, ADeviceIsWrittenToAndAFullOneIsSaid) {
  const OutputFile null("/dev/null");
  EXPECT_TRUE(null.is_stream());
  null.Write("bytes");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(test::Has(Refusal("/dev/full"), "No space left on device")) << Refusal("/dev/full");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// Opened anew it would be another place in the file.
TEST_F(OutputFiles, ADescriptorOfTheProcessIsWrittenToWhereItStands) {
  const fs::path path = scratch_ / "redirected";
  const Descriptor file(path, O_WRONLY | O_CREAT);
  ASSERT_EQ(::write(file.get(), "before ", 7), 7);
  const std::string number = std::to_string(file.get());
  for (const std::string& name : {"/dev/fd/" + number, "/proc/self/fd/" + number})
    OutputFile(name).Write("bytes ");
  ASSERT_EQ(::write(file.get(), "after", 5), 5);
  EXPECT_EQ(ReadText(path), "before bytes bytes after");
}

TEST_F(OutputFiles, WhatCannotBeOneIsRefusedInWords) {
  fs::create_symlink("loop", scratch_ / "loop");
  WriteText(scratch_ / "file", "old");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, (scratch_ / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const Descriptor closes(socket);
  const std::vector<std::pair<fs::path, std::string>> refused = {
      {scratch_.path(), "is a directory, a file is expected"},
      {scratch_ / "new/", "is a directory, a file is expected"},
      {scratch_ / "nosuch/new", "no such directory"},
      {scratch_ / "file/new", "Not a directory"},
      {scratch_ / "loop", "Too many levels of symbolic links"},
      {scratch_ / "socket", "is a socket, a file is expected"},
      {scratch_ / std::string(300, 'x'), "File name too long"},
      {"/proc/self/nosuch", "cannot"}};
  for (const auto& [named, words] : refused)
    EXPECT_TRUE(test::Has(Refusal(named), words)) << named << ": " << Refusal(named);
  EXPECT_EQ(ReadText(scratch_ / "file"), "old");
  EXPECT_EQ(FilesIn(scratch_.path()), 3u);
}

TEST_F(OutputFiles, ANewFolderIsThereOnceItIsWholeAndLeavesNothingElse) {
  for (const char* name : {"out", "again/"}) {  // as shells complete it
    {
      const NewFolder given_up(scratch_ / name);
      WriteText(given_up.path() / "file", "half");
    }
    EXPECT_EQ(FilesIn(scratch_.path()), name == std::string("out") ? 0u : 1u);
    if (name != std::string("out")) fs::create_directory(scratch_ / name);  // an empty one
    const NewFolder folder(scratch_ / name);
    WriteText(folder.path() / "file", "whole");
    folder.Commit();
    EXPECT_EQ(ReadText(scratch_ / name / "file"), "whole");
  }
  WriteText(scratch_ / "taken", "old");
  const NewFolder folder(scratch_ / "taken");
  EXPECT_THROW(folder.Commit(), Error);
  EXPECT_EQ(ReadText(scratch_ / "taken"), "old");
}

}  // namespace
}  // namespace medley
