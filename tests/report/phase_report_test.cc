#include <gtest/gtest.h>
#include <medley/report/phase_report.h>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

std::string Step(int step, const std::string& phase, int now, double seconds) {
  return "{\"step\":" + std::to_string(step) + ",\"seconds\":" + std::to_string(seconds) +
         ",\"rows_per_second\":" + std::to_string(8 / seconds) + ",\"phase\":\"" + phase +
         "\",\"memory_now\":" + std::to_string(now) + ",\"memory_peak\":" + std::to_string(2 * now) + "}\n";
}

std::string Change(int step, const std::string& from, int after, double seconds) {
  return "{\"step\":" + std::to_string(step) + ",\"transition\":{\"from\":\"" + from +
         "\",\"to\":\"x\"},\"seconds\":" + std::to_string(seconds) +
         ",\"memory_after\":" + std::to_string(after) + ",\"memory_peak\":9000}\n";
}

TEST(PhaseReport, SaysWhatEachPhaseGrewByAndWhatPredictionsCost) {
  const ScratchDirectory scratch;
  WriteText(scratch / "timing.jsonl",
            Step(1, "warmup", 1000, 1) + Step(2, "full", 1000, 1) + Change(2, "full", 1000, 0) + "damaged\n" +
                Change(2, "predict", 1000, 1) + Step(3, "correct", 1512, 1) + Step(4, "full", 2024, 1));
  const std::string table = PhasesTable(ReadPhases(scratch / "timing.jsonl"));
  for (const char* words : {"warmup       1          1000 B   1000 B           0 B    2 KiB       8",
                            "predict      1          1000 B   1000 B           0 B  8.8 KiB       -",
                            "correct      1         1.5 KiB  1.5 KiB         512 B ",
                            "full         2          1000 B    2 KiB         256 B ",
                            "6.4 rows/s with predictions, 8 without: 0.8"})
    EXPECT_NE(table.find(words), std::string::npos) << words << "\nin\n" << table;
}

TEST(PhaseReport, SaysNothingOfARunWithoutPhases) {
  const ScratchDirectory scratch;
  EXPECT_EQ(PhasesTable(ReadPhases(scratch / "timing.jsonl")), "");
  WriteText(scratch / "timing.jsonl", "{\"step\":1,\"seconds\":1,\"memory_now\":5}\n[]\n7\n");
  EXPECT_EQ(PhasesTable(ReadPhases(scratch / "timing.jsonl")), "");
}

}  // namespace
}  // namespace medley
