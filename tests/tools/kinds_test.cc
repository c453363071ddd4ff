// What verbs say of a task that runs under several names.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

// A run config with position_qa under its own name and as "asks".
class KindsVerbs : public ::testing::Test {
 protected:
  KindsVerbs() {
    json config = json::parse(ReadText(MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json"));
    const fs::path configs = MEDLEY_SOURCE_DIR "/configs/runs";
    for (const char* key : {"model", "tokenizer", "control_text"})
      config[key] = fs::weakly_canonical(configs / config.at(key).get<std::string>()).string();
    config.erase("$schema");
    config["weights"] = "weights.json";
    config["hours"] = 0;
    config["tasks"] = {{"position_qa", {{"rows", 4}}}, {"asks", {{"kind", "position_qa"}, {"rows", 2}}}};
    WriteText(config_, config.dump(2));
    Weigh(R"({"position_qa": 1, "asks": 1})");
  }

  void Weigh(const std::string& weights) const {
    WriteText(scratch_ / "weights.json", "{\"unit\": \"steps\", \"weights\": " + weights + "}");
  }
  CommandResult Run(const std::string& verb, const std::string& more = "") const {
    return Shell(Medley() + verb + " " + config_.string() + " " + more + " 2>&1");
  }

  ScratchDirectory scratch_;
  fs::path config_ = scratch_ / "run.json";
};

TEST_F(KindsVerbs, ValidateShowsTheKind) {
  const CommandResult shown = Run("validate");
  EXPECT_EQ(shown.code, 0) << shown.out;
  EXPECT_TRUE(Has(shown.out, ", of kind position_qa")) << shown.out;
  const json tasks = json::parse(Run("validate", "--json").out).at("run").at("stages").at(0).at("tasks");
  ASSERT_EQ(tasks.size(), 2U);
  for (const json& task : tasks)
    EXPECT_EQ(task.value("kind", ""), task.at("task") == "asks" ? "position_qa" : "") << task;
}

TEST_F(KindsVerbs, PluginsCheckTriesEachName) {
  const CommandResult checked = Shell(Medley() + "plugins check --config " + config_.string() + " 2>&1");
  EXPECT_EQ(checked.code, 0) << checked.out;
  EXPECT_TRUE(Has(checked.out, "position_qa.so, task asks: ok with agent")) << checked.out;
  EXPECT_TRUE(Has(checked.out, "position_qa.so, task position_qa: ok with agent")) << checked.out;
  const CommandResult one = Shell(Medley() + "plugins check asks --config " + config_.string() + " 2>&1");
  EXPECT_EQ(one.code, 0) << one.out;
  EXPECT_TRUE(Has(one.out, "task asks: ok") && !Has(one.out, "task position_qa")) << one.out;
}

TEST_F(KindsVerbs, ALockHasTheirPluginOnce) {
  const CommandResult lock = Shell(Medley() + "plugins lock --config " + config_.string() + " 2>/dev/null");
  ASSERT_EQ(lock.code, 0) << lock.out;
  const json plugins = json::parse(lock.out).at("plugins");
  ASSERT_EQ(plugins.size(), 1U);
  EXPECT_EQ(plugins.at(0).at("tasks"), (json{{"position_qa", "1"}}));
  WriteText(scratch_ / "lock.json", lock.out);
  EXPECT_EQ(Run("validate", "plugin_lock=" + (scratch_ / "lock.json").string()).code, 0);
}

TEST_F(KindsVerbs, SampleShowsRowsOfEachName) {
  const auto sample = [&](const std::string& task) {
    return Shell(Medley() + "sample " + task + " --config " + config_.string() + " --rows 8 --out " +
                 (scratch_ / (task + ".png")).string() + " 2>&1");
  };
  const CommandResult asks = sample("asks"), own = sample("position_qa");
  ASSERT_EQ(asks.code, 0) << asks.out;
  ASSERT_EQ(own.code, 0) << own.out;
  EXPECT_NE(asks.out, own.out);
  EXPECT_NE(ReadText(scratch_ / "asks.png"), ReadText(scratch_ / "position_qa.png"));
}

TEST_F(KindsVerbs, AnEstimateCountsEqualTablesOnce) {
  const auto constants = [&] {
    const json told = json::parse(Shell("OMP_NUM_THREADS=1 " + Medley() + "estimate " + config_.string() +
                                        " --gpu RTX-3090 --json 2>/dev/null")
                                      .out);
    std::int64_t bytes = 0;
    for (const json& task : told.at("tasks")) {
      if (task.at("task") == "position_qa") bytes = task.at("step").at("constants");
    }
    return bytes;
  };
  const std::int64_t both = constants();
  Weigh(R"({"position_qa": 1})");
  EXPECT_EQ(both, constants());
  EXPECT_GT(both, 0);
}

TEST_F(KindsVerbs, ARunIsReportedAndEvaluatedByItsNames) {
  const fs::path run = scratch_ / "run";
  const CommandResult trained =
      Run("train",
          "threads=1 plan=false steps=4 tensorboard=true eval.every=2 eval.rows=4 --out " + run.string());
  ASSERT_EQ(trained.code, 0) << trained.out;
  const CommandResult report = Shell(Medley() + "report " + run.string() + " 2>&1");
  EXPECT_TRUE(Has(report.out, "asks")) << report.out;
  const fs::path page = scratch_ / "page.html";
  EXPECT_EQ(Shell(Medley() + "report " + run.string() + " --html " + page.string() + " 2>&1").code, 0);
  EXPECT_TRUE(Has(ReadText(page), "asks"));
  const CommandResult eval = Shell(Medley() + "eval " + run.string() + " 2>&1");
  EXPECT_EQ(eval.code, 0) << eval.out;
  EXPECT_TRUE(Has(eval.out, "asks") && Has(eval.out, "position_qa")) << eval.out;
  const CommandResult other =
      Shell(Medley() + "resume " + run.string() + " steps=6 tasks.asks.kind=near_gold_qa 2>&1");
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_TRUE(Has(other.out, "cannot change tasks.asks.kind")) << other.out;
}

}  // namespace
}  // namespace medley
