// Stages that change the settings of tasks, to the verbs that a person uses. tests/session/stage_set_test.cc
// has the runs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

class StageSet : public ::testing::Test {
 protected:
  StageSet() { WriteText(weights(), test::kStagedWeights); }

  fs::path weights() const { return scratch_ / "weights.json"; }
  CommandResult Run(const std::string& verb, const std::string& more) const {
    return Shell(Medley() + verb + " " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json " + test::kStaged +
                 weights().string() + " " + more + " 2>&1");
  }
  CommandResult Train(const std::string& name, const std::string& more) const {
    return Run("train", "--out " + (scratch_ / name).string() + " tensorboard=false " + more);
  }

  ScratchDirectory scratch_;
};

TEST_F(StageSet, EveryFormIsPlannedBeforeTheFirstStepAndHasAReceipt) {
  const CommandResult trained = Train("run", "budget=2GiB");
  ASSERT_EQ(trained.code, 0) << trained.out;
  const auto plan = nlohmann::json::parse(ReadText(scratch_ / "run" / "plan.json"));
  std::map<std::string, int> rows;
  std::string form;
  for (const auto& entry : plan.at("tasks")) {
    const auto name = entry.at("task").get<std::string>();
    rows[name] = entry.at("rows").get<int>();
    if (name.starts_with("arrow_to_gold@")) form = name;
  }
  EXPECT_EQ(rows, (std::map<std::string, int>{{"control", 2}, {"arrow_to_gold", 2}, {form, 3}}));
  EXPECT_TRUE(Has(ReadText(scratch_ / "run" / "plan.txt"), "arrow_to_gold with 3 rows, "));
  const auto receipt = nlohmann::json::parse(ReadText(scratch_ / "run" / "receipt.json"));
  EXPECT_TRUE(receipt.at("tasks").contains(form)) << receipt;
  EXPECT_EQ(receipt.at("under_estimates"), 0) << receipt;
  const CommandResult planned = Run("plan", "budget=2GiB");
  EXPECT_EQ(planned.code, 0) << planned.out;
  EXPECT_TRUE(Has(planned.out, form)) << planned.out;
  const CommandResult report = Shell(Medley() + "report " + (scratch_ / "run").string() + " 2>&1");
  EXPECT_EQ(report.code, 0) << report.out;
  EXPECT_TRUE(Has(report.out, form + ": as set in b\n")) << report.out;
  const CommandResult eval = Shell(Medley() + "eval " + (scratch_ / "run").string() + " --rows 4 2>&1");
  EXPECT_EQ(eval.code, 0) << eval.out;
}

// Nothing of it is drawn, and it must be known all the same when its stage begins.
TEST_F(StageSet, AnEditMaySetATaskInAStageThatDrawsItNoMore) {
  const CommandResult begun = Train("run", "plan=false steps=6");
  ASSERT_EQ(begun.code, 0) << begun.out;
  const fs::path own = scratch_ / "run" / "weights.json";
  std::string text = ReadText(own);
  const std::string last = R"("until": {"steps": 3}})";
  ASSERT_NE(text.find(last), std::string::npos) << text;
  text.replace(text.find(last), last.size(), R"("until": {"steps": 3}, "set": {"tasks.control.rows": 5}})");
  WriteText(own, text);
  const CommandResult resumed =
      Shell(Medley() + "resume " + (scratch_ / "run").string() + " --steps 12 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "stage c begins")) << resumed.out;
}

TEST_F(StageSet, MistakesAreNamedWhereTheyStand) {
  const auto refused = [&](const std::string& set, const std::string& words) {
    WriteText(
        weights(),
        "{\"stages\": [{\"name\": \"a\", \"weights\": {\"control\": 1, \"arrow_to_gold\": 1},\n\"set\": {" +
            set + "}}]}");
    const CommandResult result = Run("validate", "");
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_TRUE(Has(result.out, words)) << result.out;
  };
  refused("\"tasks.arrow_to_gold.options.region_share\": 2",
          "weights.json:2:53: stages.0.set.tasks.arrow_to_gold.options.region_share: expected 0.0 to 0.99");
  refused("\"tasks.arrow_to_gold.options.region\": 0.5", "no such option (allowed: region_share, objects)");
  refused("\"tasks.arrow_to_gold.terms.imag\": 0.5", "did you mean 'image'?");
  refused("\"tasks.control.micro_rows\": 8",
          "stages.0.set.tasks.control.micro_rows: expected at most the draw's 2 rows");
  refused("\"tasks.control.rows\": \"auto\", \"tasks.control.micro_rows\": 1", "leave it out");
  refused("\"tasks.zoom_gold.rows\": 8", "no stage draws this task");
}

}  // namespace
}  // namespace medley
