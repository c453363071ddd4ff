#include <medley/report/console.h>

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

void Talk(Console& console) {
  console.Say("first");
  for (int i = 0; i < 100; ++i) console.Status("status " + std::to_string(i));
  console.Warn("trouble");
}

TEST(Console, APipeGetsPlainLinesOnly) {
  const ScratchDirectory scratch;
  std::FILE* file = std::fopen((scratch / "out").c_str(), "w");
  {
    Console console(file, scratch / "log.txt");
    Talk(console);
  }
  std::fclose(file);
  // A hundred statuses within ten seconds are none.
  EXPECT_EQ(ReadText(scratch / "out"), "first\nwarning: trouble\n");
  const std::string log = ReadText(scratch / "log.txt");
  EXPECT_NE(log.find("first"), std::string::npos);
  EXPECT_NE(log.find("trouble"), std::string::npos);
}

TEST(Console, ATerminalGetsOneLineThatIsRepaintedAndNoWiderThanItIs) {
  int master = -1, slave = -1;
  winsize size{};
  size.ws_col = 20;
  size.ws_row = 10;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  std::FILE* terminal = fdopen(slave, "w");
  {
    Console console(terminal);
    EXPECT_TRUE(console.terminal());
    EXPECT_EQ(console.columns(), 20u);
    console.Status("the whole line", "0123456789012345678901234567890");
    console.Say("done");
  }
  std::string seen(4096, '\0');
  seen.resize(static_cast<std::size_t>(::read(master, seen.data(), seen.size())));
  std::fclose(terminal);
  ::close(master);
  EXPECT_EQ(seen, "\r0123456789012345678\x1b[K\r\x1b[Kdone\r\n");
}

}  // namespace
}  // namespace medley
