#include <medley/report/speeds.h>

#include <gtest/gtest.h>
#include <medley/report/metrics.h>

#include "tests/report/scratch_directory.h"
#include "tests/report/silent_console.h"

namespace medley {
namespace {

DrawReceipt Computed(const std::string& task, std::int64_t operations, double seconds) {
  DrawReceipt draw;
  draw.form = FormId(task);
  draw.operations = operations;
  draw.seconds = seconds;
  return draw;
}

TEST(Speeds, AddUpWhatIsKnownOfATask) {
  StepRecord record;
  record.receipts = {Computed("a", 3'000'000'000, 0.5), Computed("b", 8, 2),
                     Computed("a", 1'000'000'000, 0.5), Computed("uncounted", 0, 1),
                     Computed("untimed", 7, 0)};
  const Speeds speeds = SpeedsOf(record);
  ASSERT_EQ(speeds.size(), 2u);
  EXPECT_EQ(speeds.at("a").per_second(), 4e9);
  EXPECT_EQ(speeds.at("b").per_second(), 4);
  EXPECT_NE(SpeedsTable(speeds).find("Gflop/s"), std::string::npos);
  EXPECT_EQ(SpeedsTable({}), "");
}

TEST(Speeds, OfARunAreThoseOfItsTimingLog) {
  const ScratchDirectory scratch;
  test::SilentConsole console;
  EXPECT_TRUE(ReadSpeeds(scratch / kTimingLog).empty());
  {
    TimingLog log(scratch.path(), {}, *console);
    StepRecord record;
    record.draws = {{"a", 0, 4}, {"b", 0, 4}};
    record.receipts = {Computed("a", 600, 2), Computed("b", 0, 2)};
    log.Take(record);
    record.receipts = {Computed("a", 200, 2)};
    log.Take(record);
  }
  const std::string text = ReadText(scratch / kTimingLog);
  EXPECT_NE(text.find("\"operations_per_second\":300.0"), std::string::npos) << text;
  WriteText(scratch / kTimingLog, text + "{\"step\":3,\"tasks\":7}\nno line\n");
  const Speeds speeds = ReadSpeeds(scratch / kTimingLog);
  ASSERT_EQ(speeds.size(), 1u);
  EXPECT_EQ(speeds.at("a").per_second(), 200);
  EXPECT_EQ(ToJson(speeds).at("a").at("operations_per_second"), 200);
}

}  // namespace
}  // namespace medley
