#include <medley/report/log_repair.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <random>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/report/metrics.h>

#include "tests/report/scratch_directory.h"
#include "tests/report/silent_console.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::SilentConsole;

std::string Line(int step) {
  return R"({"step":)" + std::to_string(step) + R"(,"terms":{"one":{"a":{"weighted":0.5}}}})" + "\n";
}

std::string Lines(int from, int to) {
  std::string text;
  for (int step = from; step <= to; ++step) text += Line(step);
  return text;
}

LogMarks MarksOf(const std::string& text) {
  return {{kMetricsLog, {static_cast<std::int64_t>(text.size()), HashText(text)}}};
}

LogMarks Repair(const ScratchDirectory& scratch, const LogMarks& marks, SilentConsole& listener,
                std::int64_t step = 4) {
  return RepairLogs(scratch.path(), {kMetricsLog, kTimingLog}, marks, step, *listener);
}

TEST(LogRepair, LeavesAWholeLogAlone) {
  const ScratchDirectory scratch;
  const std::string saved = Lines(1, 4), text = saved + Lines(5, 6);
  WriteText(scratch / kMetricsLog, text);
  SilentConsole listener;
  EXPECT_EQ(Repair(scratch, MarksOf(saved), listener), MarksOf(saved));
  EXPECT_EQ(Repair(scratch, {{kMetricsLog, {static_cast<std::int64_t>(saved.size()), ""}}}, listener).size(),
            1u);
  EXPECT_EQ(ReadText(scratch / kMetricsLog), text);
  EXPECT_EQ(listener.words(), "");
}

TEST(LogRepair, PredictionsBetweenStepsAreTakenOver) {
  const ScratchDirectory scratch;
  const std::string jump = "{\"step\":2,\"transition\":{\"from\":\"predict\",\"to\":\"full\"}}\n";
  const std::string saved = Lines(1, 2) + jump + Lines(3, 4);
  WriteText(scratch / kMetricsLog, "[" + saved.substr(1));
  SilentConsole listener;
  Repair(scratch, MarksOf(saved), listener);
  EXPECT_EQ(ReadText(scratch / kMetricsLog), saved.substr(saved.find('\n') + 1));
}

TEST(LogRepair, ScoresBeforeTheFirstStepAreTakenOver) {
  const ScratchDirectory scratch;
  const std::string saved = "{\"step\":0,\"eval\":{}}\n" + Lines(1, 4);
  WriteText(scratch / kMetricsLog, saved + "x" + Line(5));
  SilentConsole listener;
  Repair(scratch, MarksOf(saved + Line(5)), listener);
  EXPECT_EQ(ReadText(scratch / kMetricsLog), saved);
}

TEST(LogRepair, EveryFlippedBitIsFoundAndTheOldLogIsKeptUnderAName) {
  const std::string saved = Lines(1, 4), text = saved + Line(5);
  for (std::size_t bit = 0; bit < 8 * saved.size(); ++bit) {
    const ScratchDirectory scratch;
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    WriteText(scratch / kMetricsLog, damaged);
    SilentConsole listener;
    const LogMark mark = MarkOf(Repair(scratch, MarksOf(saved), listener), kMetricsLog);
    const std::string anew = ReadText(scratch / kMetricsLog);
    ASSERT_EQ(mark, MarkOf(MarksOf(anew), kMetricsLog)) << bit;
    ASSERT_GE(std::count(anew.begin(), anew.end(), '\n'), 2) << bit << anew;
    ASSERT_EQ(anew.find("\"step\":5"), std::string::npos) << "the checkpoint is of step 4";
    ASSERT_EQ(ReadText(scratch / "metrics.jsonl.damaged-1"), damaged);
    ASSERT_NE(listener.words().find("metrics.jsonl.damaged-1"), std::string::npos) << listener.words();
  }
}

TEST(LogRepair, ShortMissingAndNoFileAtAll) {
  const ScratchDirectory scratch;
  const std::string saved = Lines(1, 4);
  SilentConsole listener;
  WriteText(scratch / kMetricsLog, saved.substr(0, saved.size() - 3));
  EXPECT_EQ(Repair(scratch, MarksOf(saved), listener), MarksOf(Lines(1, 3)));
  EXPECT_EQ(ReadText(scratch / kMetricsLog), Lines(1, 3));

  fs::remove(scratch / kMetricsLog);
  EXPECT_EQ(Repair(scratch, MarksOf(saved), listener), MarksOf(""));
  EXPECT_NE(listener.words().find("metrics.jsonl is missing; a new one begins here"), std::string::npos)
      << listener.words();

  fs::remove(scratch / kMetricsLog);
  ASSERT_EQ(::mkfifo((scratch / kMetricsLog).c_str(), 0600), 0);  // opening it as others do waits for ever
  fs::create_directory(scratch / kTimingLog);
  EXPECT_EQ(MarkOf(Repair(scratch, {}, listener), kMetricsLog).bytes, 0);
  EXPECT_TRUE(fs::is_fifo(scratch / "metrics.jsonl.damaged-2"));
  EXPECT_TRUE(fs::is_directory(scratch / "timing.jsonl.damaged-1"));
  EXPECT_TRUE(fs::is_regular_file(scratch / kMetricsLog));
}

TEST(LogRepair, WithoutASumABrokenLineIsDamage) {
  const ScratchDirectory scratch;
  std::string text = Lines(1, 4);
  const auto bytes = static_cast<std::int64_t>(text.size());
  text[text.size() / 2] = '\n';
  WriteText(scratch / kMetricsLog, text);
  SilentConsole listener;
  const LogMark mark = MarkOf(Repair(scratch, {{kMetricsLog, {bytes, ""}}}, listener), kMetricsLog);
  EXPECT_LT(mark.bytes, bytes);
  EXPECT_GT(mark.bytes, 0);
  EXPECT_TRUE(fs::exists(scratch / "metrics.jsonl.damaged-1"));
}

// Whoever may not look at one learns nothing about it, and none was touched.
TEST(LogRepair, TroubleOfTheMachineChangesNoLog) {
  const ScratchDirectory scratch;
  const std::string saved = Lines(1, 4);
  WriteText(scratch / kMetricsLog, "damaged");
  WriteText(scratch / kTimingLog, saved);
  SilentConsole listener;
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  const rlimit none{0, old_limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  std::string message;
  try {
    Repair(scratch, MarksOf(saved), listener);
  } catch (const FileError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_NOFILE, &old_limit);
  EXPECT_NE(message.find("metrics.jsonl: Too many open files"), std::string::npos) << message;
  EXPECT_EQ(ReadText(scratch / kMetricsLog), "damaged");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 2);
}

// RLIMIT_FSIZE stands in for a full disk.
TEST(LogWatch, SaysAtOnceWhatCannotBeWrittenAndWhenItIs) {
  const ScratchDirectory scratch;
  SilentConsole listener;
  MetricsLog log(scratch.path(), {}, *listener);
  StepRecord record;
  record.step = 1;
  for (int i = 0; i < 100; ++i) log.Take(record);  // longer than all that is said, which goes to a file too
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit small{fs::file_size(scratch / kMetricsLog) + 10, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  log.Take(record);
  const std::string at_once = listener.words();
  log.Take(record);
  const std::string later = listener.words();
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  const std::string path = (scratch / kMetricsLog).string();
  EXPECT_NE(at_once.find("cannot write " + path + ": File too large; "), std::string::npos) << at_once;
  EXPECT_NE(at_once.find(" bytes wait in memory (the disk has "), std::string::npos) << at_once;
  EXPECT_NE(at_once.find("until then no step can be saved"), std::string::npos) << at_once;
  EXPECT_EQ(later, at_once) << "once";
  log.Take(record);
  EXPECT_NE(listener.words().find(path + " is written again"), std::string::npos) << listener.words();
  const std::string text = ReadText(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 103);
}

}  // namespace
}  // namespace medley
