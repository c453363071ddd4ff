#include <medley/base/work_progress.h>

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdio>
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

std::string InAFile(double seconds) {
  std::FILE* out = std::tmpfile();
  Told(out, seconds);
  std::rewind(out);
  std::string said;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) said += static_cast<char>(c);
  std::fclose(out);
  return said;
}

TEST(WorkProgress, SaysNothingOfWhatIsShort) { EXPECT_EQ(InAFile(1.9), ""); }

TEST(WorkProgress, IsALineEveryTenSecondsWithTheTimeLeft) {
  EXPECT_EQ(InAFile(32),
            "reading rows.jsonl: 7 %, 0:30 left\nreading rows.jsonl: 38 %, 0:20 left\n"
            "reading rows.jsonl: 70 %, 0:10 left\n");
}

TEST(WorkProgress, OnATerminalOneLineIsPaintedAgainAndIsGoneAtTheEnd) {
  int master = 0, slave = 0;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  std::FILE* out = fdopen(slave, "w");
  Told(out, 4);
  std::fflush(out);
  std::string said(1 << 14, '\0');
  said.resize(static_cast<std::size_t>(::read(master, said.data(), said.size())));
  EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  EXPECT_NE(said.find("\rreading rows.jsonl: 60 %, 0:02 left\x1b[K"), std::string::npos) << said;
  EXPECT_TRUE(said.ends_with("\r\x1b[K")) << said;
  std::fclose(out);
  ::close(master);
}

}  // namespace
}  // namespace medley
