// What `medley plugins check` says of plugins that work, that fail, and that take their process with them.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
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
using testing::Fixture;

// All that is known of a file: the exit code, and the results in the order of its tasks.
struct Checked {
  int code = -1;
  nlohmann::json results;
  const nlohmann::json& only() const { return results.at(0); }
};

Checked Check(const fs::path& file, const std::string& more = "") {
  const CommandResult result =
      Shell(Medley() + "plugins check --json " + file.string() + " " + more + " 2>/dev/null");
  return {result.code, nlohmann::json::parse(result.out)};
}

TEST(PluginsCheck, ATaskWithAModelOfItsPluginIsOk) {
  const Checked checked = Check(Fixture("series"));
  EXPECT_EQ(checked.code, 0) << checked.results;
  for (const nlohmann::json& result : checked.results) EXPECT_EQ(result.at("state"), "ok") << result;
}

TEST(PluginsCheck, AModelThatNoTaskRunsIsCheckedAlone) {
  const Checked checked = Check(Fixture("models_alone"));
  EXPECT_EQ(checked.code, 1) << checked.results;
  std::map<std::string, nlohmann::json> by_model;
  for (const nlohmann::json& result : checked.results) by_model[result.at("subject")] = result;
  EXPECT_EQ(by_model.at("model right_map").at("state"), "ok") << checked.results;
  EXPECT_EQ(by_model.at("model right_map").at("not_judged").size(), 0U) << checked.results;
  const nlohmann::json& failed = by_model.at("model normalised_map");
  EXPECT_EQ(failed.at("state"), "failed") << failed;
  EXPECT_EQ(failed.at("phase"), "contract") << failed;
  EXPECT_TRUE(Has(failed.at("message"), "'y' for a row is another beside 2 rows")) << failed;
  const nlohmann::json& kinds = by_model.at("model kinds");
  EXPECT_EQ(kinds.at("state"), "ok") << kinds;
  EXPECT_TRUE(Has(kinds.at("not_judged").at(0), "integers of 'kind' have no bound")) << kinds;
}

TEST(PluginsCheck, AShippedTaskIsOkWithTheSmallAgentInEveryVariant) {
  const CommandResult named = Shell(Medley() + "plugins check zoom_gold 2>&1");
  EXPECT_EQ(named.code, 0) << named.out;
  EXPECT_TRUE(Has(named.out, "zoom.so, task zoom_gold: ok with agent; a row takes (default) joint"))
      << named.out;
  for (const char* form : {"(fused) joint", "(carry) joint", "two_stage + recompute 1"})
    EXPECT_TRUE(Has(named.out, form)) << named.out;
  EXPECT_FALSE(Has(named.out, "zoom_agent")) << named.out;  // it was not asked for
}

TEST(PluginsCheck, AnAbortAFaultAndAnExitAtLoadAreNamed) {
  const auto died = [](const std::string& fixture, const std::string& how) {
    const Checked checked = Check(Fixture(fixture));
    EXPECT_EQ(checked.code, 1) << fixture;
    EXPECT_EQ(checked.only().at("state"), "died") << checked.results;
    EXPECT_EQ(checked.only().at("phase"), "load") << checked.results;
    EXPECT_TRUE(Has(checked.only().at("message"), how)) << checked.results;
  };
  died("aborts_at_load", "signal 6");
  died("faults_at_load", "signal 11");
  died("exits_at_load", "exit code 7");
}

TEST(PluginsCheck, AHangEndsWithTheTimeAndSaysItsPhase) {
  const Checked checked = Check(Fixture("hangs_at_load"), "--seconds 5");
  EXPECT_EQ(checked.code, 1);
  EXPECT_EQ(checked.only().at("state"), "hangs") << checked.results;
  EXPECT_EQ(checked.only().at("phase"), "load") << checked.results;
}

TEST(PluginsCheck, OneTaskThatCannotBeMadeHidesNoOther) {
  const Checked checked = Check(Fixture("fails_to_make"));
  EXPECT_EQ(checked.code, 1);
  ASSERT_EQ(checked.results.size(), 6u);
  for (const nlohmann::json& result : checked.results) {
    EXPECT_EQ(result.at("state"), "failed") << result;
    EXPECT_EQ(result.at("phase"), "making the task") << result;
  }
  EXPECT_TRUE(Has(checked.only().at("message"), "no table")) << checked.results;
}

TEST(PluginsCheck, WhatATaskDoesAgainstItsSpecFailsTheContract) {
  const Checked tiny = Check(Fixture("tiny")), other = Check(Fixture("fails_to_run"));
  for (const Checked* checked : {&tiny, &other}) {
    EXPECT_EQ(checked->code, 1);
    EXPECT_EQ(checked->only().at("state"), "failed") << checked->results;
    EXPECT_TRUE(Has(checked->only().at("phase"), "contract")) << checked->results;
  }
}

TEST(PluginsCheck, AFileThatIsNoPluginFailsItsScan) {
  const testing::TempDirectory work;
  testing::WriteBytes(work / "other.so",
                      testing::Patched(testing::ReadBytes(Fixture("tiny")), "\"glibcxx_debug\":false",
                                       "\"glibcxx_debug\":true "));
  const Checked checked = Check(work / "other.so");
  EXPECT_EQ(checked.code, 1);
  EXPECT_EQ(checked.only().at("phase"), "scan");
  EXPECT_TRUE(Has(checked.only().at("message"), "bad abi")) << checked.results;
}

TEST(PluginsCheck, AFileThatCannotBeUsedTakesNoOtherWithIt) {
  const testing::TempDirectory plugins;
  fs::copy_file(Fixture("series"), plugins / "series.so");
  testing::WriteBytes(plugins / "other.so",
                      testing::Patched(testing::ReadBytes(Fixture("tiny")), "\"glibcxx_debug\":false",
                                       "\"glibcxx_debug\":true "));
  const CommandResult result = Shell(Medley() + "plugins check --json series other --plugin-path " +
                                     plugins.path().string() + " 2>/dev/null");
  EXPECT_EQ(result.code, 1) << result.out;
  std::map<std::string, std::string> states;
  for (const nlohmann::json& one : nlohmann::json::parse(result.out))
    states[fs::path(one.at("path").get<std::string>()).filename()] = one.at("state");
  EXPECT_EQ(states, (std::map<std::string, std::string>{{"other.so", "failed"}, {"series.so", "ok"}}))
      << result.out;
}

TEST(PluginsCheck, ADirectoryIsToBeNamedAsOne) {
  const testing::TempDirectory plugins;
  for (const char* verb : {"check ", "show "}) {
    const CommandResult result = Shell(Medley() + "plugins " + verb + plugins.path().string() + " 2>&1");
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_TRUE(Has(result.out, "is a directory; name it by --plugin-path")) << result.out;
  }
}

// Not failed, and not passed either.
TEST(PluginsCheck, AnUnknownNameSaysWhatThereIsAndWhichNamedPathIsMissing) {
  const CommandResult result = Shell(Medley() + "plugins check zoom_golf --plugin-path /no/plugins-2 2>&1");
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(Has(result.out, "zoom_gold") && Has(result.out, "/no/plugins-2 is missing")) << result.out;
  EXPECT_FALSE(Has(result.out, " plugins-2")) << result.out;  // no name of a plugin
}

TEST(PluginsCheck, ARequiredOptionNeedsAConfig) {
  const Checked checked = Check(Fixture("needs_a_file"));
  EXPECT_EQ(checked.code, 3);
  EXPECT_EQ(checked.only().at("state"), "needs a config") << checked.results;
  EXPECT_TRUE(Has(checked.only().at("message"), "words")) << checked.results;
}

TEST(PluginsCheck, AConfigGivesTheModel) {
  const testing::TempDirectory work;
  testing::WriteBytes(work / "model.json", R"({"kind": "series_net", "classes": 4})");
  testing::WriteBytes(work / "weights.json", R"({"weights": {"trend": 1}})");
  testing::WriteBytes(work / "run.json", R"({"model": "model.json", "weights": "weights.json"})");
  const Checked checked = Check(Fixture("series"), "--config " + (work / "run.json").string());
  EXPECT_EQ(checked.code, 1) << checked.results;  // the task has three classes
  EXPECT_EQ(checked.only().at("state"), "failed") << checked.results;
}

// A config whose weights name one task that may be in trouble.
class CheckInTrouble : public ::testing::Test {
 protected:
  nlohmann::json Check(const std::string& options, const std::string& more = "") const {
    const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
    testing::WriteBytes(work_ / "weights.json", R"({"weights": {"trouble": 1}})");
    testing::WriteBytes(
        work_ / "run.json",
        R"({"model": ")" + configs + R"(models/agent-tiny.json", "tokenizer": ")" + configs +
            R"(tokenizers/small.model", "control_text": ")" + configs +
            R"(texts/control.txt", "weights": "weights.json", "tasks": {"trouble": {"options": {)" + options +
            "}}}}");
    return medley::Check(Fixture("trouble"), "--config " + (work_ / "run.json").string() + more).only();
  }
  testing::TempDirectory work_;
};

TEST_F(CheckInTrouble, EachPhaseInWhichATaskFailsIsNamed) {
  EXPECT_EQ(Check("").at("state"), "ok");
  const auto fails = [&](const std::string& options, const std::string& phase, const std::string& words) {
    const nlohmann::json result = Check(options);
    EXPECT_EQ(result.at("state"), "failed") << result;
    EXPECT_EQ(result.at("phase"), phase) << result;
    EXPECT_TRUE(Has(result.at("message"), words)) << result;
  };
  fails(R"("scores": 4)", "a step, joint", "is nan");
  fails(R"("scores": 2)", "evaluation", "");
  fails(R"("scores": 0)", "evaluation", "answered NaN");
}

TEST_F(CheckInTrouble, APassThatHangsIsEnded) {
  const nlohmann::json result = Check(R"("pass_ms": 1e9)", " --seconds 5");
  EXPECT_EQ(result.at("state"), "hangs") << result;
  EXPECT_EQ(result.at("phase"), "contract") << result;
}

// Each form of a stage is a task of its own.
TEST(PluginsCheck, AConfigGivesTheTasksAndTheirForms) {
  const testing::TempDirectory work;
  testing::WriteBytes(work / "weights.json", R"({"stages": [
    {"name": "one", "weights": {"zoom_gold": 1}, "until": {"steps": 5}},
    {"name": "two", "weights": {"zoom_gold": 1}, "set": {"tasks.zoom_gold.options.objects": 0.5}}]})");
  const fs::path run = work / "run.json";
  const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
  testing::WriteBytes(run, R"({"model": ")" + configs + R"(models/agent-tiny.json", "tokenizer": ")" +
                               configs + R"(tokenizers/small.model", "control_text": ")" + configs +
                               R"(texts/control.txt", "weights": "weights.json"})");
  const CommandResult checked =
      Shell(Medley() + "plugins check --json --config " + run.string() + " 2>/dev/null");
  EXPECT_EQ(checked.code, 0) << checked.out;
  const nlohmann::json results = nlohmann::json::parse(checked.out);
  ASSERT_EQ(results.size(), 1u) << results;
  EXPECT_EQ(results.at(0).at("subject"), "task zoom_gold");
  std::set<std::string> forms;
  for (const nlohmann::json& measured : results.at(0).at("measured")) forms.insert(measured.at("form"));
  EXPECT_EQ(forms, (std::set<std::string>{"default", "default, settings 2", "fused", "carry"}));
}

TEST(PluginsCheck, AConfigBringsNoPluginThatNobodyConfirmed) {
  const testing::TempDirectory work;
  testing::WriteBytes(work / "run.json", R"({"model": "model.json", "weights": "weights.json",
    "plugin_path": [")" + Fixture("aborts_at_load").string() +
                                             R"("]})");
  const CommandResult refused =
      Shell("XDG_STATE_HOME=" + (work / "state").string() + " " + Medley() + "plugins check " +
            Fixture("series").string() + " --config " + (work / "run.json").string() + " 2>&1");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "--allow-config-plugins")) << refused.out;
}

}  // namespace
}  // namespace medley
