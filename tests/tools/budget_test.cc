// --budget of train and resume, as a user gives it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

CommandResult TrainWithin(const fs::path& out, const std::string& more) {
  std::string command = Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " +
                        out.string() + " threads=1 plan=false";
  for (const char* task :
       {"control", "arrow_to_gold", "position_qa", "zoom_agent", "zoom_gold", "zoom_halfway"}) {
    command += " tasks." + std::string(task) + ".rows=2";
  }
  return Shell(command + " " + more + " 2>&1");
}

TEST(BudgetOption, OneThatCannotBeIsRefusedAndLeavesNothingBehind) {
  struct Case {
    std::string budget;
    int code;
    std::string words;
  };
  const ScratchDirectory scratch;
  for (const Case& bad : {Case{"1MiB", 5, "the budget of 1 MiB is below the "},
                          {"1MiB", 5, "optimizer state"},
                          {"500TiB", 2, "are more than cpu has"},
                          {"half", 2, "budget: expected bytes (6GiB"},
                          {"0", 2, "budget: expected"},
                          {"120%", 2, "found '120%'"}}) {
    const CommandResult result = TrainWithin(scratch / "run", "--budget " + bad.budget + " steps=1");
    EXPECT_EQ(result.code, bad.code) << result.out;
    EXPECT_TRUE(Has(result.out, bad.words)) << result.out;
    EXPECT_FALSE(fs::exists(scratch / "run")) << result.out;
  }
}

// Beside 1.6 MiB of weights: gradients, two moments and the average as much each; a line and what is lent as
// much again.
TEST(BudgetOption, WhatPredictionsKeepIsRefusedBeforeTheFirstRow) {
  const ScratchDirectory scratch;
  const std::string average = "steps=1 plan=false budget=9MiB optimizer.average=0.9 ";
  const CommandResult without = TrainWithin(scratch / "run", average);
  EXPECT_FALSE(Has(without.out, "before the first row")) << without.out;
  for (const char* verb : {"train", "plan"}) {
    const CommandResult with =
        Shell(Medley() + verb + " " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " +
              (scratch / verb).string() + " threads=1 " + average + "phases.warmup_steps=5 2>&1");
    EXPECT_EQ(with.code, 5) << with.out;
    EXPECT_TRUE(
        Has(with.out, "the budget of 9 MiB is below the 11.4 MiB that this model needs before the first row"))
        << with.out;
    EXPECT_TRUE(Has(with.out, "are missing")) << with.out;
  }
}

TEST(BudgetOption, IsSaidSavedAndChangedByAResume) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  CommandResult result = TrainWithin(run, "--budget 50% steps=1");
  ASSERT_EQ(result.code, 0) << result.out;
  const std::string log = ReadText(run / "log.txt");  // the screen has it with --wide
  EXPECT_TRUE(Has(log, "budget ")) << log;
  EXPECT_TRUE(Has(log, " are free")) << log;
  EXPECT_TRUE(Has(log, "activations ")) << log;
  EXPECT_FALSE(Has(result.out, " are free")) << result.out;
  EXPECT_EQ(nlohmann::json::parse(ReadText(run / "config.resolved.json")).at("budget"), "50%");
  result = Shell(Medley() + "resume " + run.string() + " --steps 2 --budget free --wide 2>&1");
  ASSERT_EQ(result.code, 0) << result.out;
  EXPECT_TRUE(Has(result.out, "what is free of ")) << result.out;
}

}  // namespace
}  // namespace medley
