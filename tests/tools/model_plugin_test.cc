// A run with a model of a plugin's own, which knows neither words nor pictures: every verb.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;
using testing::ReadBytes;
using testing::WriteBytes;

class RunWithAModelOfAPlugin : public ::testing::Test {
 protected:
  RunWithAModelOfAPlugin() {
    WriteBytes(work_ / "model.json", R"({"kind": "series_net"})");
    WriteBytes(work_ / "weights.json", R"({"unit": "rows", "weights": {"trend": 1}})");
    WriteBytes(
        work_ / "run.json",
        R"({"model": "model.json", "weights": "weights.json", "steps": 60, "threads": 1, "budget": "1GiB",
                   "optimizer": {"learning_rate": 0.02, "warmup_steps": 5}, "eval": {"rows": 90},
                   "checkpoint": {"every": 30}, "tasks": {"trend": {"rows": 24}}})");
  }
  CommandResult Run(const std::string& words) const {
    return Shell(Medley() + words + " --plugin-path " + testing::Fixture("series").string() + " 2>&1");
  }
  std::string Config() const { return (work_ / "run.json").string(); }

  testing::TempDirectory work_;
};

TEST_F(RunWithAModelOfAPlugin, IsValidatedWithoutTokenizerOrControlText) {
  const CommandResult good = Run("validate " + Config());
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_TRUE(Has(good.out, "(series_net), seed 0")) << good.out;
  EXPECT_EQ(Run("validate " + (work_ / "model.json").string()).code, 0);
  const CommandResult other =
      Run("validate " + Config() + " model=" MEDLEY_SOURCE_DIR "/configs/models/agent-tiny.json");
  EXPECT_EQ(other.code, 2);
  for (const char* part :
       {"tokenizer: missing; the model 'agent' needs it", "control_text: missing; the model 'agent' needs it",
        "task trend hands in 'series', which the model 'agent' has not",
        "task trend gives the size 'frames', which the model 'agent' has not"})
    EXPECT_TRUE(Has(other.out, part)) << part << '\n' << other.out;
  WriteBytes(work_ / "model.json", R"({"kind": "series_nett"})");
  EXPECT_TRUE(Has(Run("validate " + Config()).out,
                  "model.json:1:10: kind: no such model; did you mean 'series_net'?"));
}

TEST_F(RunWithAModelOfAPlugin, ATaskThatDoesNotFitTheModelsValuesRefusesIt) {
  WriteBytes(work_ / "model.json", R"({"kind": "series_net", "classes": 4})");
  const CommandResult refused = Run("train " + Config() + " --out " + (work_ / "run").string());
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "trend has 3 classes, the model 4; set its \"classes\" to 3")) << refused.out;
}

TEST_F(RunWithAModelOfAPlugin, TrainsPlannedResumesAndIsScored) {
  const std::string out = (work_ / "run").string();
  const CommandResult trained = Run("train " + Config() + " --out " + out);
  ASSERT_EQ(trained.code, 0) << trained.out;
  const CommandResult again = Run("train " + Config() + " --out " + (work_ / "again").string() + " steps=30");
  ASSERT_EQ(again.code, 0) << again.out;
  const CommandResult resumed = Shell(Medley() + "resume " + (work_ / "again").string() + " --steps 60 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  const CommandResult scored = Shell(Medley() + "eval " + out + " --rows 300 2>&1");
  EXPECT_EQ(scored.code, 0) << scored.out;
  EXPECT_TRUE(Has(scored.out, "trend")) << scored.out;
  const auto record = nlohmann::json::parse(ReadBytes(work_ / "run/run.json"));
  EXPECT_EQ(record["starts"].back()["model"], "series_net");
  const CommandResult report = Shell(Medley() + "report " + out + " 2>&1");
  EXPECT_EQ(report.code, 0) << report.out;
  EXPECT_TRUE(Has(report.out, "trend")) << report.out;
  const CommandResult prompted = Shell(Medley() + "generate " + out + " --prompt a 2>&1");
  EXPECT_EQ(prompted.code, 2) << prompted.out;
  EXPECT_TRUE(Has(prompted.out, "this run has no way to answer: trend can be asked, but not so"))
      << prompted.out;
  EXPECT_TRUE(Has(prompted.out, "its model 'series_net' by itself reads no words")) << prompted.out;
}

// The classes of a file, one by one and line by line.
TEST_F(RunWithAModelOfAPlugin, SaysTheLikeliestClassesOfAFile) {
  const std::string out = (work_ / "run").string();
  ASSERT_EQ(Run("train " + Config() + " --out " + out).code, 0);
  WriteBytes(work_ / "up.txt", "1 0 1.2 0.3 0.8 -0.5 1.1 0.1 0.9 0 1 0 1 0 1 0 1 0 1 0 1 0\n");
  WriteBytes(work_ / "down.txt", "-1 0 -1.2 0.3 -0.8 -0.5 -1.1 0.1 -0.9 0 -1 0 -1 0 -1 0 -1 0 -1 0\n");
  const std::string generate = Medley() + "generate " + out + " ";
  const CommandResult up = Shell(generate + "--image " + (work_ / "up.txt").string() + " 2>/dev/null");
  EXPECT_EQ(up.code, 0) << up.out;
  EXPECT_TRUE(std::regex_match(up.out, std::regex(" *[0-9.]+ %  rises\n *[0-9.]+ %  .*\n *[0-9.]+ %  .*\n")))
      << up.out;
  WriteBytes(work_ / "asked.jsonl",
             "{\"file\": \"down.txt\"}\n{\"file\": \"up.txt\", \"row\": 0, \"id\": 7}\n");
  const std::string from = generate + "--from " + (work_ / "asked.jsonl").string() + " --out ";
  const CommandResult both = Shell(from + (work_ / "out.jsonl").string() + " 2>&1");
  EXPECT_EQ(both.code, 0) << both.out;
  EXPECT_EQ(ReadBytes(work_ / "out.jsonl"),
            "{\"file\":\"down.txt\",\"reply\":\"falls\"}\n{\"file\":\"up.txt\",\"row\":0,\"id\":7,\"reply\":"
            "\"rises\"}\n");
  WriteBytes(work_ / "asked.jsonl", "{\"file\": \"down.txt\"}\n{\"file\": \"nowhere.txt\"}\n");
  const CommandResult missing = Shell(from + (work_ / "no.jsonl").string() + " 2>&1");
  EXPECT_EQ(missing.code, 2) << missing.out;
  EXPECT_TRUE(Has(missing.out, "asked.jsonl:2: file: ")) << missing.out;
  for (const std::string& refused :
       {"--image " + (work_ / "up.txt").string() + " --row 3",
        "--image " + (work_ / "up.txt").string() + " --chat", "--image " + (work_ / "run.json").string(),
        std::string("--prompt a --task trend")})
    EXPECT_EQ(Shell(generate + refused + " 2>/dev/null </dev/null").code, 2) << refused;
}

// Rows of every size of the series, against what the planner measures.
TEST_F(RunWithAModelOfAPlugin, IsEstimatedFromItsFootprint) {
  const CommandResult estimated = Run("estimate " + Config() + " --check");
  EXPECT_EQ(estimated.code, 0) << estimated.out;
  std::smatch error;
  ASSERT_TRUE(std::regex_search(estimated.out, error, std::regex("trend +24 .* ([+-][0-9.]+) %")))
      << estimated.out;
  EXPECT_NEAR(std::atof(error[1].str().c_str()), 2.5, 2.5) << estimated.out;
}

TEST_F(RunWithAModelOfAPlugin, ShowsItsExamplesByShapeAndAsLines) {
  const CommandResult sample =
      Run("sample trend --config " + Config() + " --rows 3 --out " + (work_ / "sheet.png").string());
  EXPECT_EQ(sample.code, 0) << sample.out;
  EXPECT_TRUE(Has(sample.out, "series: [3, 40, 2] Float")) << sample.out;
  EXPECT_TRUE(Has(sample.out, "sheet.png (columns: series)") && fs::exists(work_ / "sheet.png"))
      << sample.out;
  const CommandResult alone = Run("sample trend --rows 3 --out " + (work_ / "sheet.png").string());
  EXPECT_EQ(alone.code, 0) << "without a config, with the plugin's own model: " << alone.out;
  EXPECT_TRUE(Has(alone.out, "series: [3, 40, 2] Float")) << alone.out;
}

// As it has no losses: they are made of its logits, and one line of the run says what that costs.
TEST(RunWithAModelWhoseHeadIsNoMatrix, SaysOnceThatItsLossesAreMadeOfAllLogits) {
  const testing::TempDirectory work;
  WriteBytes(work / "model.json", R"({"kind": "logits_alone"})");
  WriteBytes(work / "weights.json", R"({"unit": "rows", "weights": {"echo": 1}})");
  WriteBytes(work / "control.txt", "A line.\n");
  WriteBytes(work / "run.json",
             R"({"model": "model.json", "weights": "weights.json", "steps": 60, "threads": 1,
      "tokenizer": ")" MEDLEY_SOURCE_DIR R"(/configs/tokenizers/small.model", "control_text": "control.txt",
      "budget": "1GiB", "optimizer": {"learning_rate": 0.05, "warmup_steps": 5}, "eval": {"rows": 20},
      "tasks": {"echo": {"rows": 16}}})");
  const std::string words = "the model 'logits_alone' has no \"losses\", for which the task 'echo' asks";
  const CommandResult trained =
      Shell(Medley() + "train " + (work / "run.json").string() + " --out " + (work / "run").string() +
            " --wide --plugin-path " + testing::Fixture("logits_alone").string() + " 2>&1");
  ASSERT_EQ(trained.code, 0) << trained.out;
  const std::size_t at = trained.out.find(words);
  ASSERT_NE(at, std::string::npos) << trained.out;
  EXPECT_EQ(trained.out.find(words, at + 1), std::string::npos) << trained.out;
  const auto lines = ReadBytes(work / "run/metrics.jsonl");
  const auto loss = [](const std::string& line) {
    return nlohmann::json::parse(line).at("loss").get<double>();
  };
  const std::size_t last = lines.rfind('\n', lines.size() - 2) + 1;
  EXPECT_LT(loss(lines.substr(last)), loss(lines.substr(0, lines.find('\n'))) - 1) << "and it learns";
}

TEST(ModelsVerb, ListsShowsAndWritesSchemas) {
  const std::string path = " --plugin-path " + testing::Fixture("series").string();
  const CommandResult all = Shell(Medley() + "models" + path);
  EXPECT_EQ(all.code, 0);
  EXPECT_TRUE(Has(all.out, "agent") && Has(all.out, "series_net  series  classifies series")) << all.out;
  const CommandResult one = Shell(Medley() + "models series_net" + path);
  EXPECT_TRUE(Has(one.out, "body.activation") && Has(one.out, "[rows, frames, channels] float")) << one.out;
  const auto json = nlohmann::json::parse(Shell(Medley() + "models --json" + path).out);
  EXPECT_EQ(json.size(), 3U);
  EXPECT_EQ(nlohmann::json::parse(Shell(Medley() + "models series_net --json" + path).out)["version"], "3");
  const auto schema = nlohmann::json::parse(Shell(Medley() + "models series_net --schema" + path).out);
  EXPECT_EQ(schema["properties"]["kind"]["enum"][0], "series_net");
  const CommandResult unknown = Shell(Medley() + "models sereis_net" + path + " 2>&1");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(Has(unknown.out, "did you mean 'series_net'?")) << unknown.out;
}

// A directory from somebody else must not bring code.
TEST_F(RunWithAModelOfAPlugin, APathThatOnlyTheConfigNamesIsRefusedUntilItIsConfirmed) {
  const std::string state = "XDG_STATE_HOME=" + (work_ / "state").string() + " " + Medley();
  const std::string plugin = " plugin_path='[\"" + testing::Fixture("series").string() + "\"]' 2>&1";
  const std::string run = (work_ / "run").string();
  for (const std::string& verb : {"validate " + Config(), "train " + Config() + " --out " + run,
                                  "plan " + Config(), "estimate " + Config()}) {
    const CommandResult refused = Shell(state + verb + plugin);
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_TRUE(Has(refused.out, "--allow-config-plugins")) << refused.out;
  }
  EXPECT_FALSE(fs::exists(run));
  const CommandResult trained =
      Shell(state + "train " + Config() + " steps=2 plan=false --allow-config-plugins --out " + run + plugin);
  EXPECT_EQ(trained.code, 0) << trained.out;
  EXPECT_EQ(Shell(state + "eval " + run + " --rows 2 2>&1").code, 0);  // its user confirmed it
  const std::string other = "XDG_STATE_HOME=" + (work_ / "other").string() + " " + Medley();
  EXPECT_EQ(Shell(other + "eval " + run + " --rows 2 2>&1").code, 2);
  EXPECT_EQ(Shell(other + "resume " + run + " --steps 3 2>&1").code, 2);
  EXPECT_EQ(Shell(other + "resume " + run + " --steps 3 --plugin-path " +
                  testing::Fixture("series").string() + " 2>&1")
                .code,
            0);
}

TEST_F(RunWithAModelOfAPlugin, ALockRefusesOtherBytesAndSaysWhatWasExpected) {
  const fs::path lock = work_ / "plugins.lock";
  EXPECT_EQ(Run("plugins lock --config " + Config() + " --out " + lock.string()).code, 0);
  const nlohmann::json locked = nlohmann::json::parse(ReadBytes(lock));
  ASSERT_EQ(locked.at("plugins").size(), 1u) << locked;
  const nlohmann::json& plugin = locked.at("plugins").at(0);
  EXPECT_EQ(plugin.at("name"), "series");
  EXPECT_EQ(plugin.at("models").at("series_net"), "3");
  const std::string sum = plugin.at("sha256");
  EXPECT_TRUE(Has(Shell("sha256sum " + testing::Fixture("series").string()).out, sum)) << sum;
  const std::string validate = "validate " + Config() + " plugin_lock=" + lock.string();
  EXPECT_EQ(Run(validate).code, 0);
  WriteBytes(lock, testing::Patched(ReadBytes(lock), sum, std::string(sum.size(), '0')));
  for (const std::string& verb : {validate, "train " + Config() + " --out " + (work_ / "run").string() +
                                                " plugin_lock=" + lock.string()}) {
    const CommandResult refused = Run(verb);
    EXPECT_EQ(refused.code, 2) << refused.out;
    for (const std::string& part :
         {std::string("series.so"), "expected SHA-256 " + std::string(sum.size(), '0'), "found " + sum})
      EXPECT_TRUE(Has(refused.out, part)) << part << '\n' << refused.out;
  }
  // Files of several directories may have one name: any entry of it counts.
  nlohmann::json twice = locked;
  twice["plugins"].push_back(plugin);
  twice["plugins"][1]["sha256"] = std::string(sum.size(), '1');
  WriteBytes(lock, twice.dump());
  EXPECT_EQ(Run(validate).code, 0);
  WriteBytes(lock, "{}");
  EXPECT_TRUE(Has(Run(validate).out, "is no lock of plugins"));
}

}  // namespace
}  // namespace medley
