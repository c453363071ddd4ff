#include <medley/report/console.h>

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>

#include <medley/report/screen.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

void Talk(Console& console) {
  console.Say("first");
  for (int i = 0; i < 100; ++i) console.Status("status " + std::to_string(i));
  console.Warn("trouble");
}

// A terminal hands on what was written in pieces of its own.
std::string ReadUpTo(const std::string& end, int terminal) {
  std::string seen;
  pollfd waiting{.fd = terminal, .events = POLLIN, .revents = 0};
  while (!seen.ends_with(end) && ::poll(&waiting, 1, /*milliseconds=*/5000) > 0) {
    std::array<char, 256> piece{};
    const ssize_t n = ::read(terminal, piece.data(), piece.size());
    if (n <= 0) break;
    seen.append(piece.data(), static_cast<std::size_t>(n));
  }
  return seen;
}

// Whatever the terminal is that the tests are started from.
class AnyTerminal : public testing::Environment {
  void SetUp() override { ::setenv("TERM", "xterm", 1); }
};
[[maybe_unused]] const auto* const kTerminal = testing::AddGlobalTestEnvironment(new AnyTerminal);

TEST(Console, ALogThatCannotBeWrittenIsSaidOnce) {
  const ScratchDirectory scratch;
  std::FILE* file = std::tmpfile();
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  {
    Console console(file, scratch / "log.txt");
    const rlimit small{0, old_limit.rlim_max};
    std::setvbuf(file, nullptr, _IOFBF, 1 << 16);
    setrlimit(RLIMIT_FSIZE, &small);
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    ASSERT_GE(::dup2(pipe[1], ::fileno(file)), 0);
    console.Say("first");
    console.Say("second");
    setrlimit(RLIMIT_FSIZE, &old_limit);
    const std::string seen = ReadUpTo("second\n", pipe[0]);
    const std::string words =
        "first\nwarning: the log may lack lines: Failed flush to file " + (scratch / "log.txt").string();
    EXPECT_TRUE(seen.starts_with(words)) << seen;
    EXPECT_TRUE(seen.ends_with("File too large\nsecond\n")) << seen;
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  std::signal(SIGXFSZ, old_handler);
  std::fclose(file);
}

TEST(Console, APipeGetsPlainLinesOnlyAndOneStatusInTenSeconds) {
  const ScratchDirectory scratch;
  std::FILE* file = std::fopen((scratch / "out").c_str(), "w");
  double clock = 0;
  {
    Console console(file, scratch / "log.txt", [&] { return clock; });
    console.Say("first");
    for (; clock < 35; clock += 0.25)
      console.Status("after " + std::to_string(static_cast<int>(clock)) + " s",
                     std::to_string(static_cast<int>(clock)));
    console.Warn("trouble");
  }
  std::fclose(file);
  EXPECT_EQ(ReadText(scratch / "out"), "first\n10\n20\n30\nwarning: trouble\n") << "the short words";
  std::istringstream log(ReadText(scratch / "log.txt"));
  std::string without_times;  // "2026-03-01 12:34:56 I first"
  for (std::string line; std::getline(log, line);) without_times += line.substr(22) + "\n";
  EXPECT_EQ(without_times, "first\nafter 10 s\nafter 20 s\nafter 30 s\ntrouble\n");
}

TEST(Console, ATerminalIsRepaintedAtMostTenTimesASecond) {
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  std::FILE* terminal = fdopen(slave, "w");
  int tick = 0;  // of 1/64 s, which a double holds
  {
    Console console(terminal, {}, [&] { return tick / 64.0; });
    for (; tick < 64; ++tick) console.Status(std::to_string(tick));
    console.Say("done");
  }
  const std::string seen = ReadUpTo("\r\n", master);
  std::fclose(terminal);
  ::close(master);
  std::string expected;
  for (int paint = 0; paint < 10; ++paint) expected += "\r" + std::to_string(7 * paint) + "\x1b[K";
  EXPECT_EQ(seen, expected + "\r\x1b[Kdone\r\n");
}

TEST(Console, ASinkGetsWhatIsSaidAndAStatusAtMostTenTimesASecond) {
  const ScratchDirectory scratch;
  std::string told;
  int tick = 0;  // of 1/64 s
  {
    Console console(
        [&](ConsoleLine kind, const std::string& text) {
          told += std::string(kind == ConsoleLine::kSaid      ? "said "
                              : kind == ConsoleLine::kWarning ? "warning "
                                                              : "status ") +
                  text + "\n";
        },
        [&] { return tick / 64.0; });
    EXPECT_EQ(console.columns(), kPageColumns);
    console.LogTo(scratch / "log.txt");
    console.Say("first\nand more");
    for (; tick < 16; ++tick) console.Status(std::to_string(tick) + " of 16", std::to_string(tick));
    console.Detail("few want this");
    console.Warn("trouble");
    tick = 64 * 11;
    console.Status("after 11 s", "11");
  }
  EXPECT_EQ(told, "said first\nand more\nstatus 0\nstatus 7\nstatus 14\nwarning trouble\nstatus 11\n");
  const std::string log = ReadText(scratch / "log.txt");
  for (const char* line : {"and more\n", "few want this\n", "trouble\n", "after 11 s\n"})
    EXPECT_NE(log.find(line), std::string::npos) << line << " in " << log;
}

TEST(Console, ADumbTerminalGetsPlainLinesOnly) {
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  std::FILE* terminal = fdopen(slave, "w");
  const char* before = std::getenv("TERM");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TERM", "dumb", 1);
  {
    Console console(terminal);
    Talk(console);
  }
  before == nullptr ? ::unsetenv("TERM") : ::setenv("TERM", kept.c_str(), 1);
  EXPECT_EQ(ReadUpTo("trouble\r\n", master), "first\r\nwarning: trouble\r\n");
  std::fclose(terminal);
  ::close(master);
}

TEST(Console, LinesThatCannotBeWrittenAreLostAndLeaveNoError) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  {
    Console console(full);
    Talk(console);
  }
  EXPECT_EQ(std::ferror(full), 0);
  EXPECT_EQ(std::fclose(full), 0) << "nothing is left to be written";
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
    EXPECT_EQ(console.columns(), 20u);
    console.Status("the whole line", "0123456789012345678901234567890");
    console.Say("done");
  }
  const std::string seen = ReadUpTo("\r\n", master);
  std::fclose(terminal);
  ::close(master);
  EXPECT_EQ(seen, "\r0123456789012345678\x1b[K\r\x1b[Kdone\r\n");
}

}  // namespace
}  // namespace medley
