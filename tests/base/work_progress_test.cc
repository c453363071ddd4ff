#include <medley/base/work_progress.h>

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace medley {
namespace {

// A piece of work that tells its progress ten times a second.
void Told(std::FILE* out, double seconds) {
  double now = 100;
  WorkProgress progress(out, [&] { return now; });
  for (int step = 0; step < 10 * seconds; ++step, now += 0.1)
    progress.Say("reading rows.jsonl", step, 10 * seconds);
}

std::string SaidTo(std::FILE* out) {
  std::rewind(out);
  std::string said;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) said += static_cast<char>(c);
  std::fclose(out);
  return said;
}

std::string InAFile(double seconds) {
  std::FILE* out = std::tmpfile();
  Told(out, seconds);
  return SaidTo(out);
}

TEST(WorkProgress, SaysNothingOfWhatIsShort) { EXPECT_EQ(InAFile(1.9), ""); }

TEST(WorkProgress, IsALineEveryTenSecondsWithTheTimeLeft) {
  EXPECT_EQ(InAFile(32),
            "reading rows.jsonl: 7 %, 0:30 left\nreading rows.jsonl: 38 %, 0:20 left\n"
            "reading rows.jsonl: 70 %, 0:10 left\n");
}

// What is said on a terminal of the kind `term`, which a machine of tests may lack or call dumb.
std::string OnATerminal(const char* term, double seconds) {
  const char* before = std::getenv("TERM");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TERM", term, 1);
  int master = 0, slave = 0;
  EXPECT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  std::FILE* out = fdopen(slave, "w");
  Told(out, seconds);
  std::fclose(out);
  std::string said;
  char piece[1024];  // what is there by then, which may be less than all
  for (ssize_t size = 0; (size = ::read(master, piece, sizeof piece)) > 0;)
    said.append(piece, static_cast<std::size_t>(size));
  ::close(master);
  before == nullptr ? ::unsetenv("TERM") : ::setenv("TERM", kept.c_str(), 1);
  return said;
}

TEST(WorkProgress, OnATerminalOneLineIsPaintedAgainAndIsGoneAtTheEnd) {
  const std::string said = OnATerminal("xterm", 4);
  EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  EXPECT_NE(said.find("\rreading rows.jsonl: 60 %, 0:02 left\x1b[K"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("\r\x1b[K")) << said;
}

TEST(WorkProgress, OnADumbTerminalItIsALineEveryTenSeconds) {
  EXPECT_EQ(OnATerminal("dumb", 12), "reading rows.jsonl: 18 %, 0:10 left\r\n");
}

// A part that takes a quarter of the time and one that takes the rest are one account.
TEST(WorkInParts, GoesOnWhereThePartBeforeEnded) {
  std::FILE* out = std::tmpfile();
  double now = 100;
  WorkInParts work(4, out, [&] { return now; });
  const Telling quick = work.Next(1);
  for (int i = 0; i < 10; ++i, now += 1) quick("looking", i, 10);
  const Telling slow = work.Next(3);
  for (int i = 0; i < 15; ++i, now += 2) slow("computing", i, 15);
  EXPECT_EQ(SaidTo(out),
            "looking: 5 %, 0:38 left\ncomputing: 30 %, 0:28 left\ncomputing: 55 %, 0:18 left\n"
            "computing: 80 %, 0:08 left\n");
}

TEST(ReadingProgress, IsOfTheFilesBytes) {
  const std::string file = ::testing::TempDir() + "rows-" + std::to_string(::getpid()) + ".jsonl";
  std::FILE* rows = std::fopen(file.c_str(), "w");
  std::fputs(std::string(1000, 'x').c_str(), rows);
  std::fclose(rows);
  std::FILE* out = std::tmpfile();
  double now = 100;
  ReadingProgress progress(file, out, [&] { return now; });
  for (int i = 0; i < 4; ++i, now += 1) progress.Read(100);
  std::remove(file.c_str());
  EXPECT_EQ(SaidTo(out), "reading " + file.substr(file.rfind('/') + 1) + ": 30 %, 0:05 left\n");
}

}  // namespace
}  // namespace medley
