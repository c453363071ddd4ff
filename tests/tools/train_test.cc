// How the command's runs may end: on time, with a dropped task.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include <medley/checkpoint/checkpoint_files.h>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

CommandResult TrainMixture(const fs::path& out, const std::string& more) {
  return Shell(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/control.json --out " + out.string() +
               " threads=1 plan=false tasks.control.rows=2 " + more + " 2>&1");
}

TEST(TrainCommand, ARunWhoseHoursAreShortEndsDecayed) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  const CommandResult trained =
      TrainMixture(run, "hours=0.001 steps=1000000 optimizer.warmup_steps=0 checkpoint.every=0");
  EXPECT_EQ(trained.code, 0) << trained.out;
  EXPECT_TRUE(Has(trained.out, "the run's hours, 0.001, do not last for 1000000 steps")) << trained.out;
  EXPECT_TRUE(Has(trained.out, "decayed early, in steps ")) << trained.out;
  EXPECT_FALSE(Has(trained.out, "hours are over")) << trained.out;

  const CheckpointEntry end = ListCheckpoints(run).at(0);
  const auto state = nlohmann::json::parse(ReadText(end.path / "state.json"));
  const auto start = state.at("/progress/state/early_decay/start"_json_pointer).get<std::int64_t>();
  const auto decay = static_cast<double>(end.step - start);
  EXPECT_LE(decay, 3.0 / 7 * static_cast<double>(start) + 0.51) << "shorter where the machine became slower";
  const std::string metrics = ReadText(run / "metrics.jsonl");
  std::istringstream lines(metrics);
  double rate = 1e-3;
  for (std::string line; std::getline(lines, line);) {
    const auto step = nlohmann::json::parse(line);
    const auto into = static_cast<double>(step.at("step").get<std::int64_t>() - 1 - start);
    const auto before = std::exchange(rate, step.at("lr").get<double>());
    if (into <= 0) {
      EXPECT_EQ(rate, 1e-3);
    } else {
      EXPECT_LT(rate, before);
    }
  }

  const CommandResult again = Shell(Medley() + "resume " + run.string() + " 2>&1");
  EXPECT_EQ(again.code, 0) << again.out;
  EXPECT_TRUE(Has(again.out, "the run is done: it decayed early")) << again.out;
  EXPECT_EQ(ReadText(run / "metrics.jsonl"), metrics);
}

TEST(TrainCommand, ARunThatDroppedATaskFinishesWithExitCode3) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run", weights = scratch / "weights.json";
  WriteText(weights, R"({"weights": {"control": 1, "fails_to_run": 1}})");
  const std::string mixture =
      "--plugin-path " MEDLEY_PLUGIN_FIXTURES "/fails_to_run steps=4 weights=" + weights.string() +
      " on_task_error=";
  const CommandResult dropped = TrainMixture(run, mixture + "drop");
  EXPECT_EQ(dropped.code, 3) << dropped.out;
  EXPECT_TRUE(Has(dropped.out, "dropped: fails_to_run (")) << dropped.out;
  EXPECT_EQ(ListCheckpoints(run).at(0).step, 4);
  EXPECT_EQ(TrainMixture(scratch / "stopped", mixture + "stop").code, 1);

  // What an edit leaves must be more than that.
  WriteText(run / "weights.json", "{\n \"weights\": {\"control\": 0, \"fails_to_run\": 1}}");
  const CommandResult edited = Shell(Medley() + "resume " + run.string() + " --steps 6 2>&1");
  EXPECT_EQ(edited.code, 2) << edited.out;
  EXPECT_TRUE(Has(edited.out,
                  "weights.json:2:13: weights: the tasks with a weight above 0 were all dropped, and stay "
                  "so: fails_to_run ("))
      << edited.out;
  WriteText(run / "weights.json", "{\n \"weights\": {\"control\": 2, \"fails_to_run\": 1}}");
  EXPECT_EQ(Shell(Medley() + "resume " + run.string() + " --steps 6 2>&1").code, 3);
}

}  // namespace
}  // namespace medley
