#include <medley/plan/peak_lines.h>

#include "tests/plan/plan_fixture.h"

namespace medley {
namespace {

using namespace plan_fixture;

TEST(PeakLines, AreExactAtTheProbesAndAboveTheLastKink) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const Moments moments = RandomMoments(random);
    const std::int64_t b2 = LastKink(moments) + 1, b3 = 3 * b2;
    const PeakLines lines(ProbesOf(moments, {1, b2, b3}));
    EXPECT_EQ(lines.At(1), PeakOf(moments, 1));
    for (std::int64_t rows = b2; rows < b2 + 50; ++rows) ASSERT_EQ(lines.At(rows), PeakOf(moments, rows));
    for (const std::int64_t rows : {b3 - 1, b3, b3 + 1, 10 * b3, 1000 * b3})
      ASSERT_EQ(lines.At(rows), PeakOf(moments, rows)) << rows;
  }
}

TEST(PeakLines, NeverLieBelowTheCurveUpToTheLastProbe) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 500; ++trial) {
    const Moments moments = RandomMoments(random);
    const PeakLines lines(ProbesOf(moments, {1, 5 + static_cast<std::int64_t>(random() % 10), 40}));
    for (std::int64_t rows = 1; rows <= 40; ++rows) ASSERT_GE(lines.At(rows), PeakOf(moments, rows));
  }
}

// Why one of the probes has a single row.
TEST(PeakLines, ALineThroughTwoLargerProbesWouldUnderestimateASingleRow) {
  const Moments step{{900, 0}, {100, 50}};  // the weights' gradients do not depend on the rows
  const std::int64_t at_20 = PeakOf(step, 20), at_40 = PeakOf(step, 40);
  EXPECT_LT(at_20 - 19 * (at_40 - at_20) / 20, PeakOf(step, 1));
  EXPECT_EQ(PeakLines(ProbesOf(step, {20, 40})).At(1), at_20);  // never extrapolated downwards
  EXPECT_EQ(PeakLines(ProbesOf(step, {1, 20, 40})).At(1), PeakOf(step, 1));
}

TEST(PeakLines, ASingleProbeGivesAnUpperBound) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const Moments moments = RandomMoments(random);
    const PeakLines lines(ProbesOf(moments, {1}));
    for (const std::int64_t rows : {1, 2, 7, 100}) ASSERT_GE(lines.At(rows), PeakOf(moments, rows));
  }
}

TEST(PeakLines, TheLargestRowsFitAndOneMoreDoesNot) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 300; ++trial) {
    const PeakLines lines(ProbesOf(RandomMoments(random), {1, 6, 20}));
    const auto budget = static_cast<std::int64_t>(random() % 3000000);
    const std::int64_t rows = lines.LargestRows(budget, 1 << 20);
    EXPECT_LE(lines.At(rows), budget);
    EXPECT_TRUE(rows == 1 << 20 || lines.At(rows + 1) > budget);
  }
  EXPECT_EQ(PeakLines({{1, 10}, {2, 10}}).LargestRows(10, 7), 7);  // the bound, where rows cost nothing
}

TEST(PeakLines, BytesThatFallOrBendAreHeldForSteps) {
  const PeakLines lines({{1, 100}, {10, 90}, {20, 300}});  // a GPU's rounding
  EXPECT_EQ(lines.At(5), 100);
  EXPECT_EQ(lines.At(10), 100);
  EXPECT_EQ(lines.At(30), 500);
  const PeakLines concave({{1, 100}, {10, 1000}, {20, 1100}});
  EXPECT_EQ(concave.At(30), 1100 + 1000);  // the steepest chord, not the last
}

TEST(PeakLines, TakeProbesInAnyOrderAndTheLargerOfTwo) {
  const PeakLines lines({{8, 80}, {1, 10}, {8, 96}});
  EXPECT_EQ(lines.At(8), 96);
  EXPECT_EQ(lines.largest_probe(), 8);
  EXPECT_EQ(lines.At(0), 0);
}

TEST(PeakLines, LargeNumbersDoNotOverflow) {
  const PeakLines lines({{1, std::int64_t{1} << 40}, {1000, std::int64_t{1} << 49}});
  EXPECT_GT(lines.At(1 << 20), std::int64_t{1} << 58);
}

}  // namespace
}  // namespace medley
