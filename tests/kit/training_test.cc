// Tasks of the kit are learned, with the run config that is for everybody's plugins.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/plugin/test_files.h"
#include "tests/sweep.h"
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

// What is trained until it is learned takes most of the time: of three tools/test tries one.
class KitLearns : public KitTraining, public ::testing::WithParamInterface<std::string> {};

TEST_P(KitLearns, AnswersAboveChanceOrAPictureBetterThanTheBestWithoutLearning) {
  const std::string& task = GetParam();
  const nlohmann::json score = Score(task);
  if (task == "count_on") {
    EXPECT_GT(score.at("value"), 0.5);
  } else if (task == "first_letter") {
    EXPECT_GT(score.at("value"), 0.4) << "strings that were held out";
  } else if (task == "discs") {
    EXPECT_GT(score.at("figures").at("colour").at("value"), 0.5) << "the large disc's; sides take longer";
  } else {
    for (const auto& [answer, value] : score.at("trivial").items())
      EXPECT_LT(score.at("value"), value) << answer;
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, KitLearns,
                         ::testing::ValuesIn(test::Slice<std::string>(
                             "KitLearns", {"count_on", "first_letter", "discs", "repaint", "carried"}, 5)),
                         [](const auto& task) { return task.param; });

TEST_F(KitTraining, LinesOfAFileAreLearned) {
  const nlohmann::json score = Score("lines", "tasks.lines.options.data=" MEDLEY_TASK_DATA);
  EXPECT_GT(score.at("value"), 0.9);
  const std::string data = ReadBytes(MEDLEY_TASK_DATA);
  const auto lines = std::count(data.begin(), data.end(), '\n');
  EXPECT_EQ(score.at("rows"), 128) << "as --rows asks";
  EXPECT_EQ(score.at("items"), lines);
  EXPECT_EQ(score.at("chance"), 0.25) << "of the file's replies; the spec's is of no file";
  const std::string run = (work_ / "run").string();
  const auto once = Shell(Medley() + "eval " + run + " 2>&1");
  EXPECT_EQ(once.code, 0) << once.out;
  const auto json = nlohmann::json::parse(ReadBytes(work_ / "run/eval.json")).at("tasks").at("lines");
  EXPECT_EQ(json.at("rows"), lines) << "eval.rows are 256, the file has fewer";
  EXPECT_GT(json.at("value"), 0.9);
  EXPECT_NE(once.out.find("  " + std::to_string(lines) + "  "), std::string::npos) << once.out;
}

// A file of the task `lines`.
class LinesOfFiles : public ::testing::Test {
 protected:
  LinesOfFiles() {
    WriteBytes(data_, R"({"ask": "one", "say": "two"})"
                      "\n"
                      R"({"ask": "two", "say": "three"})"
                      "\n");
    WriteBytes(work_ / "weights.json", R"({"weights": {"lines": 1}})");
  }
  test::CommandResult Run(const std::string& verb, const std::string& more = "") const {
    return Shell("XDG_CACHE_HOME=" + (work_ / "cache").string() + " " + Medley() + verb +
                 " " MEDLEY_SOURCE_DIR "/configs/runs/plugin.json --plugin-path " MEDLEY_GAME_PLUGIN_DIRECTORY
                 " threads=1 hours=0 steps=6 tasks.lines.rows=2 weights=" +
                 (work_ / "weights.json").string() + " tasks.lines.options.data=" + data_.string() + " " +
                 more + " 2>&1");
  }
  test::CommandResult Resume(const std::string& more = "") const {
    return Shell("XDG_CACHE_HOME=" + (work_ / "cache").string() + " " + Medley() + "resume " +
                 (work_ / "run").string() + " " + more + " 2>&1");
  }
  static void Append(const std::filesystem::path& file, const std::string& text) {
    WriteBytes(file, ReadBytes(file) + text);
  }

  testing::TempDirectory work_;
  const std::filesystem::path data_ = work_ / "data.jsonl";
};

TEST_F(LinesOfFiles, ThatAreNotGoodJsonAreFoundBeforeTheFirstStep) {
  Append(data_, "{\"ask\": three}\n\n[1, 2\n{}\nx\n");
  const std::string out = " --out " + (work_ / "run").string();
  for (const auto& [verb, more] : {std::pair("validate", std::string()), std::pair("plan", std::string()),
                                   std::pair("train", out), std::pair("train", out + " plan=false")}) {
    const auto refused = Run(verb, more);
    EXPECT_EQ(refused.code, 2) << verb << refused.out;
    EXPECT_TRUE(test::Has(refused.out, "3 records are not well formed\n")) << verb << refused.out;
    for (const std::string& place :
         {data_.string() + ":3:9: ", data_.string() + ":5:6: ", data_.string() + ":7:1: "})
      EXPECT_TRUE(test::Has(refused.out, place + "not valid JSON: ")) << verb << refused.out;
    EXPECT_FALSE(std::filesystem::exists(work_ / "run")) << verb;
  }
}

// What only the task can see is mended where the run stopped.
TEST_F(LinesOfFiles, AreMendedInARunThatStopped) {
  WriteBytes(data_, "{\"ask\": \"one\", \"say\": \"two\"}\n{\"ask\": \"two\"}\n");
  const auto stopped = Run("train", "plan=false --out " + (work_ / "run").string());
  ASSERT_EQ(stopped.code, 2) << stopped.out;
  EXPECT_TRUE(test::Has(stopped.out, data_.string() + ":2: \"say\" is missing")) << stopped.out;
  EXPECT_TRUE(test::Has(stopped.out, "mend what is wrong, then medley resume " + (work_ / "run").string() +
                                         " goes on from there; --allow-changed FILE names a file"))
      << stopped.out;
  WriteBytes(data_, "{\"ask\": \"one\", \"say\": \"two\"}\n{\"ask\": \"two\", \"say\": }\n");
  const auto worse = Resume("--allow-changed " + data_.string());
  EXPECT_EQ(worse.code, 2) << worse.out;
  EXPECT_TRUE(test::Has(worse.out, data_.string() + ":2:23: not valid JSON: ")) << worse.out;
  WriteBytes(data_, "{\"ask\": \"one\", \"say\": \"two\"}\n{\"ask\": \"two\", \"say\": \"three\"}\n");
  EXPECT_EQ(Resume().code, 2);
  const auto resumed = Resume("--allow-changed " + data_.string());
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  const auto history = Shell(Medley() + "weights history " + (work_ / "run").string() + " 2>&1");
  EXPECT_EQ(history.code, 0) << history.out;
  EXPECT_TRUE(test::Has(history.out, "changed file ")) << history.out;
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
  EXPECT_FALSE(test::Has(with.out, "without the texts of lines")) << with.out;
  const auto tasks = [](const std::string& out) {
    return std::stoi(out.substr(out.rfind(" texts of ") + 10));
  };
  EXPECT_EQ(tasks(with.out), tasks(without.out) + 1) << with.out;
}

}  // namespace
}  // namespace medley
