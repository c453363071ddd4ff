#include <medley/report/screen.h>

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdlib>

namespace medley {
namespace {

std::FILE* Terminal(unsigned short columns) {
  int master = 0, slave = 0;
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  return fdopen(slave, "w");
}

TEST(Screen, IsAsWideAsItsTerminalAndAPipeAsAPage) {
  ::unsetenv("COLUMNS");
  EXPECT_EQ(ColumnsOf(Terminal(132)), 132u);
  EXPECT_EQ(ColumnsOf(Terminal(0)), 80u) << "it does not tell";
  EXPECT_EQ(ColumnsOf(Terminal(3)), 20u);
  std::FILE* pipe = popen("cat", "w");
  EXPECT_EQ(ColumnsOf(pipe), 100u);
  for (const auto& [words, columns] :
       {std::pair{"72", 72u}, {"1", 20u}, {"0", 100u}, {"wide", 100u}, {"-3", 100u}}) {
    ::setenv("COLUMNS", words, 1);
    EXPECT_EQ(ColumnsOf(pipe), columns) << words;
  }
  ::unsetenv("COLUMNS");
  pclose(pipe);
}

TEST(Screen, LinesAreBrokenAtSpacesAndGoOnFurtherIn) {
  EXPECT_EQ(Wrapped("one two three four", 9), "one two\n  three\n  four");
  EXPECT_EQ(Wrapped("one two three four", 9, 0), "one two\nthree\nfour");
  EXPECT_EQ(Wrapped("  one two three\nfits\n", 11), "  one two\n    three\nfits\n");
  EXPECT_EQ(Wrapped("a-word-that-is-too-long for it", 8), "a-word-that-is-too-long\n  for it");
  EXPECT_EQ(Wrapped("äöü äöü", 7), "äöü äöü") << "letters, not bytes";
  EXPECT_EQ(Wrapped("  --rows N   how many rows a draw has", 28),
            "  --rows N   how many rows a\n             draw has")
      << "under the words behind a term";
  EXPECT_EQ(Wrapped("  --a-very-long-term   how many rows a draw has", 30),
            "  --a-very-long-term how many\n    rows a draw has")
      << "which has to leave them some room";
  EXPECT_EQ(Wrapped("", 7), "");
  EXPECT_EQ(Wrapped("two  spaces  stay", 20), "two  spaces  stay") << "where nothing is broken";
}

}  // namespace
}  // namespace medley
