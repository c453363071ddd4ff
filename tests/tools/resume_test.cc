// Resumes that need a process of their own: for its limits, its environment, or the command that they name.
// The others are in tests/session/resume_test.cc.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

// A run of one task, as small as they come.
class SmallRun : public ::testing::Test {
 protected:
  SmallRun() { WriteText(scratch_ / "weights.json", test::kOneTaskWeights); }

  CommandResult Train(const fs::path& out, const std::string& more) const {
    return Shell(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " + out.string() +
                 " " + test::kOneTask + (scratch_ / "weights.json").string() + " " + more + " 2>&1");
  }
  CommandResult Resume(const fs::path& run, const std::string& more = "") const {
    return Shell(Medley() + "resume " + run.string() + " " + more + " 2>&1");
  }

  ScratchDirectory scratch_;
};

// ulimit -f stands in for a full disk: blocks of 1 KiB.
TEST_F(SmallRun, AFullDiskIsSaidWhereTheLogIsWrittenAndSignalsDoNotKill) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=2 checkpoint.every=0 optimizer.decay_fraction=0").code, 0);
  const auto line = static_cast<std::int64_t>(fs::file_size(run / "metrics.jsonl")) / 2;
  const std::int64_t limit = 20, steps = 1024 * limit / line + 20;
  const CommandResult full = Shell("bash -c 'ulimit -f " + std::to_string(limit) + "; " + Medley() +
                                   "resume " + run.string() + " --steps " + std::to_string(steps) + "' 2>&1");
  EXPECT_EQ(full.code, 1) << full.out;  // not 153, which is SIGXFSZ
  const auto said = full.out.find("cannot write " + (run / "metrics.jsonl").string() + ": File too large; ");
  ASSERT_NE(said, std::string::npos) << full.out;
  EXPECT_LT(said, full.out.find("was not saved")) << "before the save";
  EXPECT_TRUE(Has(full.out, "bytes wait in memory")) << full.out;
  EXPECT_TRUE(Has(full.out, "step " + std::to_string(steps) + " was not saved")) << full.out;
  EXPECT_EQ(Resume(run, "--steps 4").code, 0);
}

TEST_F(SmallRun, ResumeOnAnotherCpuSaysThatBitsMayDiffer) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=1").code, 0);
  const CommandResult same = Resume(run, "--steps 2");
  ASSERT_EQ(same.code, 0) << same.out;
  EXPECT_FALSE(Has(same.out, "changed: cpu")) << same.out;
  const CommandResult other =
      Shell("ATEN_CPU_CAPABILITY=default " + Medley() + "resume " + run.string() + " --steps 3 2>&1");
  ASSERT_EQ(other.code, 0) << other.out;
  EXPECT_TRUE(Has(other.out, "ATEN_CPU_CAPABILITY=default")) << other.out;
  EXPECT_TRUE(Has(other.out, "): other kernels round otherwise, so bits may differ")) << other.out;
}

// From a checkpoint that is sound, with ever smaller steps.
TEST_F(SmallRun, WhatAnExplodedRunAdvisesLeadsToItsEnd) {
  const fs::path run = scratch_ / "run";
  ASSERT_EQ(Train(run, "steps=6 checkpoint.every=2 checkpoint.keep=1000 optimizer.warmup_steps=0").code, 0);
  CommandResult last = Resume(run, "steps=60 optimizer.learning_rate=100 optimizer.weight_decay=1");
  int exploded = 0;
  for (; last.code == 1 && exploded < 8; ++exploded) {
    const std::string command =
        test::CommandBefore(last.out, " goes on from the newest checkpoint before the losses rose");
    ASSERT_TRUE(Has(command, "medley resume " + run.string() + " --from ")) << last.out;
    last = test::Printed(command);
    EXPECT_TRUE(Has(last.out, "restored step ")) << last.out;
  }
  EXPECT_EQ(last.code, 0) << last.out;
  EXPECT_GT(exploded, 0);
  EXPECT_EQ(test::LineCount(run / "metrics.jsonl"), 60);
}

// It was never sound: another run begins.
TEST_F(SmallRun, WhatARunAdvisesThatExplodedAtOnceIsANewOne) {
  const fs::path run = scratch_ / "run";
  fs::create_directory(scratch_ / "run-2");
  CommandResult last = Train(run,
                             "steps=60 optimizer.learning_rate=100 optimizer.weight_decay=1 "
                             "optimizer.warmup_steps=0 checkpoint.every=5");
  int exploded = 0;
  for (; last.code == 1 && exploded < 8; ++exploded) {
    const std::string command = test::CommandBefore(last.out, " begins anew");
    ASSERT_TRUE(Has(command, "medley train ")) << last.out;
    last = test::Printed(command);
  }
  EXPECT_EQ(last.code, 0) << last.out;
  EXPECT_GT(exploded, 0);
  EXPECT_TRUE(fs::exists(scratch_ / "run-3/metrics.jsonl")) << "run-2 was not free";
}

}  // namespace
}  // namespace medley
