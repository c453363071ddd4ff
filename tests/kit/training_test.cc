// Tasks of the kit are learned, with the run config that is for everybody's plugins.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::Medley;
using test::Shell;
using testing::ReadBytes;
using testing::WriteBytes;

class KitTraining : public ::testing::Test {
 protected:
  // Of a task by itself; `more`: words of `medley train`.
  nlohmann::json Score(const std::string& task, const std::string& more = "") const {
    const std::string run = (work_ / "run").string();
    WriteBytes(work_ / "weights.json", "{\"weights\": {\"" + task + "\": 1}}");
    const auto trained =
        Shell(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/plugin.json --out " + run +
              " --plugin-path " MEDLEY_GAME_PLUGIN_DIRECTORY " plan=false threads=1 weights=" +
              (work_ / "weights.json").string() + " " + more + " 2>&1");
    EXPECT_EQ(trained.code, 0) << trained.out;
    const auto scored = Shell(Medley() + "eval " + run + " --rows 128 2>&1");
    EXPECT_EQ(scored.code, 0) << scored.out;
    return nlohmann::json::parse(ReadBytes(work_ / "run/eval.json")).at("tasks").at(task);
  }

  testing::TempDirectory work_;
};

TEST_F(KitTraining, TheMinimalPluginIsAboveChanceInThreeHundredSteps) {
  EXPECT_GT(Score("count_on").at("value"), 0.5);
}

TEST_F(KitTraining, StringsThatWereHeldOutAreAnswered) { EXPECT_GT(Score("first_letter").at("value"), 0.4); }

TEST_F(KitTraining, LinesOfAFileAreLearned) {
  const nlohmann::json score = Score("lines", "tasks.lines.options.data=" MEDLEY_TASK_DATA);
  EXPECT_GT(score.at("value"), 0.9);
  const std::string data = ReadBytes(MEDLEY_TASK_DATA);
  const auto lines = std::count(data.begin(), data.end(), '\n');
  EXPECT_EQ(score.at("rows"), 128) << "as --rows asks";
  EXPECT_EQ(score.at("items"), lines);
  const std::string run = (work_ / "run").string();
  const auto once = Shell(Medley() + "eval " + run + " 2>&1");
  EXPECT_EQ(once.code, 0) << once.out;
  const auto json = nlohmann::json::parse(ReadBytes(work_ / "run/eval.json")).at("tasks").at("lines");
  EXPECT_EQ(json.at("rows"), lines) << "eval.rows are 256, the file has fewer";
  EXPECT_GT(json.at("value"), 0.9);
  EXPECT_NE(once.out.find("  " + std::to_string(lines) + "  "), std::string::npos) << once.out;
}

// The large disc's colour; sides take longer.
TEST_F(KitTraining, AQuestionAboutDiscsIsAnswered) {
  EXPECT_GT(Score("discs").at("figures").at("colour").at("value"), 0.5);
}

TEST_F(KitTraining, PicturesAreBetterThanTheBestAnswerWithoutLearning) {
  for (const char* task : {"repaint", "carried"}) {
    const nlohmann::json score = Score(task);
    for (const auto& [answer, value] : score.at("trivial").items())
      EXPECT_LT(score.at("value"), value) << task << ": " << answer;
    std::filesystem::remove_all(work_ / "run");
  }
}

// What a file says is not known without the config that names it.
TEST_F(KitTraining, AVocabularyKnowsTheTextsOfAFileWithTheConfigThatNamesIt) {
  const std::string words = Medley() +
                            "tokenizer train --corpus " MEDLEY_SOURCE_DIR
                            "/configs/texts/corpus.txt --plugin-path " MEDLEY_GAME_PLUGIN_DIRECTORY
                            " --vocab 1200 --out " +
                            (work_ / "words.model").string();
  const auto without = Shell(words + " 2>&1");
  EXPECT_EQ(without.code, 0) << without.out;
  EXPECT_TRUE(test::Has(without.out, "without the texts of lines, which needs options: --config RUN"))
      << without.out;
  const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
  WriteBytes(work_ / "weights.json", R"({"weights": {"lines": 1}})");
  WriteBytes(work_ / "data.jsonl", "{\"ask\": \"What sings?\", \"say\": \"nightingales\"}\n");
  WriteBytes(work_ / "run.json",
             R"({"model": ")" + configs + R"(models/agent-tiny.json", "control_text": ")" + configs +
                 R"(texts/control.txt", "tokenizer": "words-to-come.model", "weights": "weights.json",
                                     "tasks": {"lines": {"options": {"data": "data.jsonl"}}}})");
  const auto with = Shell(words + " --force --config " + (work_ / "run.json").string() + " 2>&1");
  EXPECT_EQ(with.code, 0) << with.out;
  EXPECT_FALSE(test::Has(with.out, "without the texts")) << with.out;
  const auto tasks = [](const std::string& out) {
    return std::stoi(out.substr(out.rfind(" texts of ") + 10));
  };
  EXPECT_EQ(tasks(with.out), tasks(without.out) + 1) << with.out;
}

}  // namespace
}  // namespace medley
