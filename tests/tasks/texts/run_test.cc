// Runs over people's files, as they type them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/report/picture.h>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;
using testing::ReadBytes;
using testing::WriteBytes;

class TalkRuns : public ::testing::Test {
 protected:
  // Of one task over talk.jsonl; `more`: further keys of the run config.
  std::filesystem::path Config(const std::string& task, json settings,
                               const json& more = json::object()) const {
    const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
    WriteBytes(work_ / "weights.json", json{{"weights", {{task, 1}}}}.dump());
    settings["rows"] = 4;
    settings["options"]["data"] = MEDLEY_TASK_DATA;
    settings["options"]["text_width"] = 192;
    json run{{"model", configs + "models/agent-tiny.json"},
             {"tokenizer", configs + "tokenizers/small.model"},
             {"control_text", configs + "texts/control.txt"},
             {"weights", "weights.json"},
             {"steps", 12},
             {"threads", 1},
             {"plan", false},
             {"eval", {{"rows", 64}}},
             {"tasks", {{task, settings}}},
             {"optimizer", {{"learning_rate", 3e-3}, {"warmup_steps", 2}}}};
    run.update(more);
    WriteBytes(work_ / "run.json", run.dump());
    return work_ / "run.json";
  }
  CommandResult Run(const std::string& words) const {
    return Shell("XDG_CACHE_HOME=" + (work_ / "cache").string() + " " + Medley() + words + " 2>&1");
  }
  std::string Out(const std::string& name) const { return (work_ / name).string(); }
  testing::TempDirectory work_;
};

TEST_F(TalkRuns, SampleShowsWhatIsLearnedInBrackets) {
  const auto config = Config("chat", json::object());
  const CommandResult shown = Run("sample chat --rows 2 --config " + config.string());
  EXPECT_EQ(shown.code, 0) << shown.out;
  EXPECT_TRUE(Has(shown.out, "<eos>assistant:[")) << shown.out;
  EXPECT_TRUE(Has(shown.out, "<eos>]\n")) << shown.out;
  EXPECT_FALSE(Has(shown.out, "\x1b[")) << shown.out;
  const CommandResult terminal =
      Shell("XDG_CACHE_HOME=" + Out("cache") + " TERM=xterm script -qec '" + Medley() +
            "sample chat --rows 2 --config " + config.string() + "' /dev/null < /dev/null");
  if (terminal.code == 127) GTEST_SKIP() << "no script here";
  EXPECT_TRUE(Has(terminal.out, "assistant:\x1b[32m")) << terminal.out;
}

TEST_F(TalkRuns, SampleMarksNothingInPassesThatLearnNothing) {
  const CommandResult shown =
      Run("sample preference --rows 1 --config " + Config("preference", json::object()).string());
  EXPECT_EQ(shown.code, 0) << shown.out;
  const std::string start = "pass ref_chosen, looks at: no picture, learns nothing\n  1: user:";
  ASSERT_TRUE(Has(shown.out, start)) << shown.out;
  EXPECT_EQ(shown.out.find('['), shown.out.find('[', shown.out.find("pass chosen,"))) << shown.out;
}

TEST_F(TalkRuns, AChatIsTrainedResumedAndScored) {
  const auto config = Config("chat", json::object());
  const CommandResult straight = Run("train " + config.string() + " --out " + Out("straight"));
  ASSERT_EQ(straight.code, 0) << straight.out;
  ASSERT_EQ(Run("train " + config.string() + " --out " + Out("run") + " steps=12 checkpoint.every=5").code,
            0);
  EXPECT_EQ(ReadBytes(work_ / "straight/metrics.jsonl"), ReadBytes(work_ / "run/metrics.jsonl"));
  const CommandResult scored = Run("eval " + Out("run"));
  ASSERT_EQ(scored.code, 0) << scored.out;
  const json score = json::parse(ReadBytes(work_ / "run/eval.json")).at("tasks").at("chat");
  EXPECT_GT(score.at("value"), 0.0) << score.dump(2);
  EXPECT_TRUE(score.at("trivial").contains("most frequent token")) << score.dump(2);
}

// Memory is planned at text_width, time follows the rows.
TEST_F(TalkRuns, NoStepTakesMoreThanWasPlanned) {
  for (const char* task : {"chat", "preference"}) {
    const auto config = Config(task, json::object(), {{"plan", true}, {"budget", "1GiB"}});
    const CommandResult trained = Run("train " + config.string() + " --out " + Out(task));
    ASSERT_EQ(trained.code, 0) << trained.out;
    const json receipt = json::parse(ReadBytes(work_ / task / "receipt.json"));
    EXPECT_EQ(receipt.at("under_estimates"), 0) << receipt.dump(2);
    const json& first = receipt.at("tasks").at(task).at(0);
    EXPECT_LT(first.at("measured_peak").at("largest"), first.at("predicted_peak")) << receipt.dump(2);
  }
}

class TalkVariants : public TalkRuns, public ::testing::WithParamInterface<std::string> {};

TEST_P(TalkVariants, PreferencesAreTrainedAndScored) {
  const auto config = Config("preference", {{"variant", GetParam()}});
  const CommandResult trained = Run("train " + config.string() + " --out " + Out("run"));
  ASSERT_EQ(trained.code, 0) << trained.out;
  const CommandResult scored = Run("eval " + Out("run"));
  ASSERT_EQ(scored.code, 0) << scored.out;
  const json score = json::parse(ReadBytes(work_ / "run/eval.json")).at("tasks").at("preference");
  EXPECT_EQ(score.at("chance"), 0.5) << score.dump(2);
  EXPECT_TRUE(score.at("figures").contains("margin")) << score.dump(2);
}

INSTANTIATE_TEST_SUITE_P(Losses, TalkVariants, ::testing::Values("default", "orpo", "simpo"),
                         [](const auto& variant) { return variant.param; });

TEST_F(TalkRuns, BothKindsAreWhatTheirSpecsSayInEveryModeAndVariant) {
  const json settings{{"rows", 4}, {"options", {{"data", MEDLEY_TASK_DATA}, {"text_width", 192}}}};
  const auto config =
      Config("chat", json::object(), {{"tasks", {{"chat", settings}, {"preference", settings}}}});
  WriteBytes(work_ / "weights.json", R"({"weights": {"chat": 1, "preference": 1}})");
  const CommandResult checked =
      Run("plugins check " MEDLEY_GAME_PLUGIN_DIRECTORY "/texts.so --config " + config.string());
  EXPECT_EQ(checked.code, 0) << checked.out;
  EXPECT_TRUE(Has(checked.out, "texts.so, task chat: ok with agent")) << checked.out;
  EXPECT_TRUE(Has(checked.out, "texts.so, task preference: ok with agent")) << checked.out;
}

TEST_F(TalkRuns, AFormatThatTheVocabularyCannotWriteIsRefused) {
  const auto config = Config("chat", json::object(), {{"chat", "chatml"}});
  const CommandResult refused = Run("train " + config.string() + " --out " + Out("run"));
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "the chat format 'chatml' needs '<|im_start|>', which the vocabulary lacks"))
      << refused.out;
  // The task's own option goes first.
  const CommandResult own =
      Run("train " + config.string() + " --out " + Out("own") + " tasks.chat.options.chat=plain");
  EXPECT_EQ(own.code, 0) << own.out;
}

TEST_F(TalkRuns, ATemplateBesideTheVocabularyIsToldWhereNobodyChoseAFormat) {
  std::filesystem::create_directories(work_ / "folder");
  std::filesystem::copy(MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model", work_ / "folder/small.model");
  WriteBytes(work_ / "folder/tokenizer_config.json", R"({"chat_template": "{{ messages }}"})");
  const auto config = Config("chat", json::object(), {{"tokenizer", "folder/small.model"}, {"steps", 2}});
  const std::string words =
      "folder/tokenizer_config.json has a chat template, and nobody chose a chat format";
  const CommandResult told = Run("train " + config.string() + " --out " + Out("run"));
  EXPECT_EQ(told.code, 0) << told.out;
  const std::size_t first = told.out.find(words);
  ASSERT_NE(first, std::string::npos) << told.out;
  EXPECT_EQ(told.out.find(words, first + 1), std::string::npos) << told.out;
  const CommandResult chosen = Run("train " + config.string() + " --out " + Out("chosen") + " chat=plain");
  EXPECT_EQ(chosen.code, 0) << chosen.out;
  EXPECT_FALSE(Has(chosen.out, words)) << chosen.out;
}

// The vocabulary of the tests knows <eos>, <image> and <pad> alone.
constexpr char kOwnFormat[] =
    R"({"head": "Q:", "to_assistant": "<eos>A:", "to_user": "<eos>Q:", "tail": "<eos>", "generation": "<eos>A:", "end": "<eos>"})";

TEST_F(TalkRuns, AFormatsFileIsKeptByTheRun) {
  WriteBytes(work_ / "own.json", kOwnFormat);
  const auto config = Config("chat", json::object(), {{"chat", "own.json"}, {"steps", 2}});
  const CommandResult shown = Run("sample chat --rows 1 --config " + config.string());
  EXPECT_TRUE(Has(shown.out, "Q:")) << shown.out;
  const CommandResult trained = Run("train " + config.string() + " --out " + Out("run"));
  ASSERT_EQ(trained.code, 0) << trained.out;
  const json rules = json::parse(ReadBytes(work_ / "run/run.json")).at("data_rules");
  ASSERT_EQ(rules.at("chats").size(), 1U) << rules.dump(2);
  EXPECT_EQ(rules.at("chats").begin()->at("to_user"), "<eos>Q:");
  // What becomes of the file is no matter of the run's.
  WriteBytes(work_ / "own.json", "{}");
  for (const std::string& verb : {"resume " + Out("run") + " --steps 4", "eval " + Out("run"),
                                  "generate " + Out("run") + " --prompt 'Who?' --tokens 2"}) {
    const CommandResult done = Run(verb);
    EXPECT_EQ(done.code, 0) << verb << "\n" << done.out;
  }
  const CommandResult other = Run("train " + config.string() + " --out " + Out("other"));
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_TRUE(Has(other.out, "own.json:1:1: to_user: missing") || Has(other.out, "own.json:")) << other.out;
}

TEST_F(TalkRuns, AFormatsFileMayBeATasksOwn) {
  WriteBytes(work_ / "own.json", kOwnFormat);
  const auto config = Config("chat", {{"options", {{"chat", "own.json"}}}}, {{"steps", 1}});
  const CommandResult trained = Run("train " + config.string() + " --out " + Out("run"));
  EXPECT_EQ(trained.code, 0) << trained.out;
  const CommandResult none = Run("validate " + config.string() + " tasks.chat.options.chat=none.json");
  EXPECT_EQ(none.code, 2) << none.out;
  EXPECT_TRUE(Has(none.out, "none.json")) << none.out;
  const CommandResult unknown = Run("validate " + config.string() + " chat=vicuna");
  EXPECT_EQ(unknown.code, 2) << unknown.out;
  EXPECT_TRUE(Has(unknown.out, "or the path of a NAME.json")) << unknown.out;
}

TEST_F(TalkRuns, ValidateReadsAChatFormat) {
  WriteBytes(work_ / "own.json", kOwnFormat);
  const CommandResult good = Run("validate " + Out("own.json"));
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_TRUE(Has(good.out, "ok: a chat format 'own', without pictures among words")) << good.out;
  WriteBytes(work_ / "own.json", R"({"$schema": "chat.schema.json", "head": 5, "tale": ""})");
  const CommandResult bad = Run("validate " + Out("own.json"));
  EXPECT_EQ(bad.code, 2) << bad.out;
  EXPECT_TRUE(Has(bad.out, "head: expected a string, found 5") && Has(bad.out, "tale: unknown key"))
      << bad.out;
}

// Three pictures of people's own, of other sizes than the model's.
TEST_F(TalkRuns, ConversationsThatShowPicturesAreTrainedScoredAndResumed) {
  json list = json::array();
  for (int i = 0; i < 12; ++i) {
    const std::string name = "picture" + std::to_string(i % 3) + ".png";
    Picture picture(40 + i % 3, 30, static_cast<std::uint8_t>(100 * (i % 3)));
    WriteBytes(work_ / name, EncodePng(picture));
    list.push_back({{"id", i},
                    {"image", name},
                    {"conversations",
                     {{{"from", "human"}, {"value", "<image>\nHow dark?"}},
                      {{"from", "gpt"}, {"value", i % 3 == 0 ? "black" : "grey"}}}}});
  }
  WriteBytes(work_ / "shown.json", list.dump());
  auto config = Config("chat", {{"options", {{"images", 1}}}}, {{"steps", 3}});
  json run = json::parse(ReadBytes(config));
  run["tasks"]["chat"]["options"]["data"] = "shown.json";
  WriteBytes(config, run.dump());
  const CommandResult trained =
      Run("train " + config.string() + " --out " + Out("run") + " plan=true budget=1GiB");
  ASSERT_EQ(trained.code, 0) << trained.out;
  const json receipt = json::parse(ReadBytes(work_ / "run/receipt.json"));
  EXPECT_EQ(receipt.at("under_estimates"), 0) << receipt.dump(2);
  for (const std::string& verb :
       {"resume " + Out("run") + " --steps 5", "eval " + Out("run") + " --rows 4"}) {
    const CommandResult done = Run(verb);
    EXPECT_EQ(done.code, 0) << verb << "\n" << done.out;
  }
  const CommandResult wrong = Run("validate " + config.string() + " tasks.chat.options.images=2");
  EXPECT_EQ(wrong.code, 2) << wrong.out;
  EXPECT_TRUE(Has(wrong.out, "shown.json:1: it shows 1 picture, and the option images is 2")) << wrong.out;
}

}  // namespace
}  // namespace medley
