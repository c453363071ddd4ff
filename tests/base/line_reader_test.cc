#include <medley/base/line_reader.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <medley/base/durable_file.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

using Lines = std::vector<std::pair<std::string, bool>>;  // and whether it is whole

Lines Read(const std::filesystem::path& path) {
  LineReader file(path);
  Lines lines;
  for (std::string line; file.Next(line);) lines.emplace_back(line, file.whole());
  return lines;
}

TEST(LineReader, GivesEveryLineAndSaysWhichOneWasCutOff) {
  const ScratchDirectory scratch;
  const std::string longest(200'000, 'x');  // of several pieces
  WriteText(scratch / "file", "a\n\n" + longest + "\nb\nend");
  EXPECT_EQ(Read(scratch / "file"),
            (Lines{{"a", true}, {"", true}, {longest, true}, {"b", true}, {"end", false}}));
  WriteText(scratch / "file", "a\n");
  EXPECT_EQ(Read(scratch / "file"), (Lines{{"a", true}}));
  WriteText(scratch / "file", "");
  EXPECT_EQ(Read(scratch / "file"), Lines());
}

// A line may end where a piece does.
TEST(LineReader, PiecesAndLinesMayEndTogether) {
  const ScratchDirectory scratch;
  for (const std::size_t size : {65'534, 65'535, 65'536, 65'537}) {
    WriteText(scratch / "file", std::string(size, 'x') + "\n" + std::string(size, 'y'));
    EXPECT_EQ(Read(scratch / "file"),
              (Lines{{std::string(size, 'x'), true}, {std::string(size, 'y'), false}}))
        << size;
  }
}

TEST(LineReader, TroubleIsNoEnd) {
  const ScratchDirectory scratch;
  EXPECT_THROW(Read(scratch / "none"), FileError);
  EXPECT_THROW(Read(scratch.path()), FileError);  // opens, and cannot be read
}

}  // namespace
}  // namespace medley
