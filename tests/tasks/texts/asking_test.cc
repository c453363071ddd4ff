// A trained chat, asked by the command: docs/asking.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <medley/report/picture.h>

#include "tests/plugin/test_files.h"
#include "tests/tools/background.h"
#include "tests/tools/run_command.h"
#include "tests/weights/llava_folder.h"

namespace medley {
namespace {

using nlohmann::json;
using test::Background;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;
using testing::ReadBytes;
using testing::TempDirectory;
using testing::WriteBytes;

class AskedChat : public ::testing::Test {
 protected:
  // One run for all: twelve steps, after which it says something, and not always the same.
  static void SetUpTestSuite() {
    work_ = std::make_unique<TempDirectory>();
    const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
    WriteBytes(Path("weights.json"), R"({"weights": {"chat": 1}})");
    WriteBytes(
        Path("run.json"),
        json{{"model", configs + "models/agent-tiny.json"},
             {"tokenizer", configs + "tokenizers/small.model"},
             {"control_text", configs + "texts/control.txt"},
             {"weights", "weights.json"},
             {"steps", 12},
             {"threads", 1},
             {"plan", false},
             {"eval", {{"every", 0}}},
             {"tasks",
              {{"chat", {{"rows", 4}, {"options", {{"data", MEDLEY_TASK_DATA}, {"text_width", 192}}}}}}},
             {"optimizer", {{"learning_rate", 3e-3}, {"warmup_steps", 2}}}}
            .dump());
    const CommandResult trained =
        Shell(Medley() + "train " + Path("run.json") + " --out " + Path("run") + " 2>&1");
    ASSERT_EQ(trained.code, 0) << trained.out;
  }
  static void TearDownTestSuite() { work_.reset(); }

  static std::string Path(const std::string& name) { return (*work_ / name).string(); }
  static std::string Ask(const std::string& words) {
    return Medley() + "generate " + Path("run") + " " + words;
  }
  // What is printed alone.
  static json Json(const std::string& words, const std::string& before = "") {
    const CommandResult printed = Shell(before + Ask(words + " --json 2>/dev/null"));
    EXPECT_EQ(printed.code, 0) << words;
    return json::parse(printed.out, nullptr, false);
  }
  static CommandResult Refused(const std::string& words) {
    CommandResult refused = Shell(Ask(words + " 2>&1 </dev/null"));
    EXPECT_EQ(refused.code, 2) << words << "\n" << refused.out;
    return refused;
  }
  static std::vector<json> Lines(const std::string& file) {
    std::vector<json> lines;
    std::istringstream text(ReadBytes(Path(file)));
    for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
    return lines;
  }

  static std::unique_ptr<TempDirectory> work_;
};

std::unique_ptr<TempDirectory> AskedChat::work_;

const std::string kDrawn = " --temperature 2 --seed 5 --tokens 20";

TEST_F(AskedChat, RepliesInItsFormatWhoeverWritesTheQuestion) {
  const json reply = Json("--prompt 'Which bird is white?' --tokens 9");
  EXPECT_EQ(reply.at("task"), "chat");
  EXPECT_LE(reply.at("tokens").size(), 9U);
  EXPECT_LT(reply.at("log_probability"), 0.0);
  EXPECT_EQ(Json("--tokens 9", "printf 'Which bird is white?\\n' | "), reply) << "from stdin";
  EXPECT_EQ(Json("--task chat --prompt 'Which bird is white?' --tokens 9"), reply);
  EXPECT_NE(Json("--prompt 'Which bird is white?' --tokens 9 --system 'Be brief.'").at("log_probability"),
            reply.at("log_probability"));
  const CommandResult words = Shell(Ask("--prompt 'Which bird is white?' --tokens 9 2>/dev/null"));
  EXPECT_EQ(words.out, reply.at("reply").get<std::string>() + "\n");
}

TEST_F(AskedChat, WhatIsDrawnHangsOnTheSeedAndSaysWhereItIsCut) {
  const json first = Json("--prompt 'Say a number.'" + kDrawn);
  EXPECT_EQ(Json("--prompt 'Say a number.'" + kDrawn), first);
  EXPECT_NE(Json("--prompt 'Say a number.' --temperature 2 --seed 6 --tokens 20").at("tokens"),
            first.at("tokens"));
  EXPECT_EQ(Json("--prompt 'Say a number.' --temperature 2 --top-p 0.0001 --tokens 20").at("tokens"),
            Json("--prompt 'Say a number.' --tokens 20").at("tokens"));
  const CommandResult cut = Shell(Ask("--prompt 'Say a number.' --temperature 5 --tokens 3 2>&1 >/dev/null"));
  EXPECT_EQ(cut.code, 0);
  EXPECT_TRUE(Has(cut.out, "the reply was cut at 3 tokens; --tokens says how many it may have")) << cut.out;
  EXPECT_TRUE(Has(cut.out, "3 tokens, ") && Has(cut.out, " a second")) << cut.out;
}

// Each line as if it were asked alone, greedy and drawn.
TEST_F(AskedChat, AFileOfQuestionsIsAnsweredLineByLine) {
  WriteBytes(
      Path("asked.jsonl"),
      R"({"number": 1, "prompt": "Say a number."})"
      "\n\n"
      R"({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]})"
      "\n"
      R"({"prompt": "Which bird is white?", "completion": "The swan is.", "a": 2.5})"
      "\n"
      R"({"messages": [{"role": "user", "content": "Where do you live?"}, {"role": "assistant", "content": "Here."}]})"
      "\n");
  const CommandResult answered =
      Shell(Ask("--from " + Path("asked.jsonl") + " --out " + Path("replies.jsonl") + " --tokens 20 2>&1"));
  ASSERT_EQ(answered.code, 0) << answered.out;
  EXPECT_TRUE(Has(answered.out, "wrote " + Path("replies.jsonl") + ": 4 lines")) << answered.out;
  const std::vector<json> asked = Lines("replies.jsonl");
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[0].at("number"), 1);
  EXPECT_TRUE(
      ReadBytes(Path("replies.jsonl")).starts_with(R"({"number":1,"prompt":"Say a number.","reply":)"));
  const std::string tokens = " --tokens 20";
  EXPECT_EQ(asked[0].at("reply"), Json("--prompt 'Say a number.'" + tokens).at("reply"));
  EXPECT_EQ(asked[1].at("reply"), Json("--prompt 'Who?' --system 'Be brief.'" + tokens).at("reply"));
  EXPECT_EQ(asked[2].at("reply"), Json("--prompt 'Which bird is white?'" + tokens).at("reply"));
  EXPECT_EQ(asked[3].at("reply"), Json("--prompt 'Where do you live?'" + tokens).at("reply"));

  const std::string drawn = "--json" + kDrawn + " --out " + Path("drawn.jsonl") + " --from ";
  ASSERT_EQ(Shell(Ask(drawn + Path("asked.jsonl"))).code, 0);
  const std::vector<json> all = Lines("drawn.jsonl");
  const json alone = Json("--prompt 'Say a number.'" + kDrawn);
  EXPECT_EQ(all[0].at("reply_details").at("tokens"), alone.at("tokens"));
  EXPECT_NEAR(all[0].at("reply_details").at("log_probability").get<double>(),
              alone.at("log_probability").get<double>(), 1e-3);
  // Its own answers are lines to ask anew, and what it wrote may be written over; what it did not may not.
  EXPECT_EQ(Shell(Ask(drawn + Path("replies.jsonl"))).code, 0);
  EXPECT_EQ(Lines("drawn.jsonl")[0].at("reply_details").at("tokens"), alone.at("tokens"));
  const std::string again = "--tokens 2 --from " + Path("drawn.jsonl") + " --out " + Path("again.jsonl");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(Shell(Ask(again)).code, 0);
  EXPECT_FALSE(Lines("again.jsonl")[0].contains("reply_details")) << "of the answer before";
  WriteBytes(Path("mine.jsonl"), "{\"mine\": 1}\n");
  Refused("--from " + Path("asked.jsonl") + " --out " + Path("mine.jsonl"));
}

// As it stands, without what a conversation puts around it.
TEST_F(AskedChat, TheModelAsItIsReadsTheWordsAlone) {
  const json plain = Json("--plain --prompt 'Say a number.' --tokens 9");
  EXPECT_FALSE(plain.contains("task"));
  EXPECT_NE(plain.at("log_probability"), Json("--prompt 'Say a number.' --tokens 9").at("log_probability"));
  Picture picture(128, 128, 60);
  WriteBytes(Path("grey.png"), EncodePng(picture));
  const std::string shown = " --image " + Path("grey.png");
  const json seen = Json("--prompt 'Say a number.' --tokens 9" + shown);
  EXPECT_FALSE(seen.contains("task")) << "the chat is shown nothing";
  EXPECT_NE(seen.at("log_probability"), plain.at("log_probability"));
  WriteBytes(Path("plain.jsonl"), R"({"prompt": "Say a number.", "images": ["grey.png"]})"
                                  "\n"
                                  R"({"prompt": "Say a number."})");
  ASSERT_EQ(
      Shell(Ask("--plain --tokens 9 --from " + Path("plain.jsonl") + " --out " + Path("plain-out.jsonl")))
          .code,
      0);
  EXPECT_EQ(Lines("plain-out.jsonl")[0].at("reply"), seen.at("reply"));
  EXPECT_EQ(Lines("plain-out.jsonl")[1].at("reply"), plain.at("reply"));
  EXPECT_TRUE(
      Has(Refused("--prompt a" + shown + shown + shown + shown + shown).out, "the agent sees 4 at most"));
  WriteBytes(Path("small.png"), EncodePng(Picture(64, 128, 60)));
  EXPECT_TRUE(Has(Refused("--prompt a --image " + Path("small.png")).out,
                  "has 64 x 128 pixels, this model looks at 128 x 128"));
}

TEST_F(AskedChat, AConversationIsRememberedAndForgotten) {
  const std::string who = "Who rang the bell?", where = "Where do you live?";
  const CommandResult held = Shell("printf '" + who + "\\n" + where + "\\n/clear\\n\\n" + where +
                                   "\\n/quit\\nmore\\n' | " + Ask("--chat --tokens 12 2>/dev/null"));
  ASSERT_EQ(held.code, 0) << held.out;
  const std::string first = Json("--prompt '" + who + "' --tokens 12").at("reply"),
                    fresh = Json("--prompt '" + where + "' --tokens 12").at("reply");
  WriteBytes(Path("second.jsonl"), json{{"messages",
                                         {{{"role", "user"}, {"content", who}},
                                          {{"role", "assistant"}, {"content", first}},
                                          {{"role", "user"}, {"content", where}}}}}
                                       .dump());
  ASSERT_EQ(
      Shell(Ask("--from " + Path("second.jsonl") + " --out " + Path("second-out.jsonl") + " --tokens 12"))
          .code,
      0);
  const std::string second = Lines("second-out.jsonl")[0].at("reply");
  EXPECT_EQ(held.out, first + "\n" + second + "\n" + fresh + "\n");
  EXPECT_EQ(Shell("printf '/nosuch\\n' | " + Ask("--chat 2>/dev/null")).code, 2);
  EXPECT_EQ(Shell("printf '/image x.png\\n' | " + Ask("--chat 2>/dev/null")).code, 2);
  EXPECT_EQ(Shell(Ask("--chat </dev/null 2>/dev/null")).code, 0) << "an empty input is an empty conversation";
}

TEST_F(AskedChat, RefusesWhatItCannotAnswerInWords) {
  const std::string most(3000, 'x');
  EXPECT_TRUE(Has(Refused("--prompt '" + most + "'").out, "tokens, text_width is 192")) << "beyond the width";
  EXPECT_TRUE(Has(Refused("--prompt a --tokens 5000").out, "4096"));
  EXPECT_TRUE(Has(Refused("").out, "there is no question"));
  EXPECT_TRUE(Has(Refused("--prompt ''").out, "--prompt is empty"));
  EXPECT_TRUE(Has(Refused("--prompt a --task nosuch").out, "no such task"));
  EXPECT_TRUE(Has(Refused("--prompt a --top-p 0.5").out, "give --temperature too"));
  EXPECT_TRUE(Has(Refused("--prompt a --row 3").out, "--row"));
  EXPECT_TRUE(Has(Refused("--prompt a --out " + Path("p.png")).out, "answers without a picture"));
  EXPECT_TRUE(
      Has(Refused("--prompt a --task chat --image " MEDLEY_SOURCE_DIR "/docs/pictures/report.png").out,
          "leave out --image"));
  Refused("--prompt a --chat");
  Refused("--chat --json");
  Refused("--from " + Path("run.json"));
  EXPECT_TRUE(Has(Refused("--from " + Path("run.json") + " --out " + Path("no.jsonl")).out, "run.json"));
  for (const std::string words : {"--temperature nan", "--temperature 1e-308", "--temperature 101",
                                  "--temperature 1 --top-p nan", "--temperature 1 --top-p 0"})
    EXPECT_TRUE(Has(Refused("--prompt a " + words).out, ": expected ")) << words;
  Refused("--row 1 --from " + Path("run.json") + " --out " + Path("no.jsonl"));
  EXPECT_TRUE(Has(Refused("--plain --prompt a --out " + Path("p.png")).out, "name that by --image"));
  Refused("--prompt a --temperature -1");
  Refused("--prompt a --seed -1");
  for (const std::string words : {"", "--chat "}) {
    const CommandResult bytes = Shell("printf 'a\\377\\n' | " + Ask(words + "2>&1"));
    EXPECT_EQ(bytes.code, 2) << bytes.out;
    EXPECT_TRUE(Has(bytes.out, "is not UTF-8; recode it")) << bytes.out;
  }
  WriteBytes(Path("bad.jsonl"), "{\"prompt\": \"a\"}\n{\"promt\": \"b\"}\n");
  EXPECT_TRUE(Has(Refused("--from " + Path("bad.jsonl") + " --out " + Path("no.jsonl")).out,
                  "bad.jsonl:2: \"prompt\" is missing; did you mean 'promt'?"));
  EXPECT_EQ(Lines("no.jsonl").size(), 1U) << "what is right in front of it is answered";
  WriteBytes(Path("bad.jsonl"), R"({"prompt": "a", "messages": [{"role": "user", "content": "b"}]})");
  const std::string from_bad = "--from " + Path("bad.jsonl") + " --out " + Path("no.jsonl");
  EXPECT_TRUE(Has(Refused(from_bad).out, "found both"));
  EXPECT_TRUE(Has(Refused("--plain " + from_bad).out, "bad.jsonl:1: messages: no task is asked"));
  WriteBytes(Path("none.jsonl"), "\n");
  EXPECT_TRUE(
      Has(Refused("--from " + Path("none.jsonl") + " --out " + Path("no.jsonl")).out, "has no lines"));
}

// A chat whose conversations show a picture.
class AskedPictures : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work_ = std::make_unique<TempDirectory>();
    std::filesystem::create_directory(Path("shown"));
    for (const auto& [name, side, red] :
         {std::tuple{"red", 128, 250}, {"dark", 128, 5}, {"wide", 300, 250}}) {
      Picture picture(side, 128, 5);
      for (std::size_t i = 0; i < picture.pixels.size(); i += 3)
        picture.pixels[i] = static_cast<std::uint8_t>(red);
      WriteBytes(Path("shown/" + std::string(name) + ".png"), EncodePng(picture));
    }
    std::string lines;
    for (int i = 0; i < 8; ++i) {
      const std::string name = i % 2 == 0 ? "red" : "dark";
      lines += json{{"image", "shown/" + name + ".png"},
                    {"conversations",
                     {{{"from", "human"}, {"value", "<image>\nWhich colour is it?"}},
                      {{"from", "gpt"}, {"value", "It is " + name + "."}}}}}
                   .dump() +
               "\n";
    }
    WriteBytes(Path("seen.jsonl"), lines);
    WriteBytes(Path("weights.json"), R"({"weights": {"chat": 1}})");
    const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
    WriteBytes(
        Path("run.json"),
        json{
            {"model", configs + "models/agent-tiny.json"},
            {"tokenizer", configs + "tokenizers/small.model"},
            {"control_text", configs + "texts/control.txt"},
            {"weights", "weights.json"},
            {"steps", 4},
            {"threads", 1},
            {"plan", false},
            {"eval", {{"every", 0}}},
            {"tasks",
             {{"chat",
               {{"rows", 2},
                {"options", {{"data", "seen.jsonl"}, {"held_out", 0}, {"text_width", 64}, {"images", 1}}}}}}}}
            .dump());
    const CommandResult trained =
        Shell(Medley() + "train " + Path("run.json") + " --out " + Path("run") + " 2>&1");
    ASSERT_EQ(trained.code, 0) << trained.out;
  }
  static void TearDownTestSuite() { work_.reset(); }

  static std::string Path(const std::string& name) { return (*work_ / name).string(); }
  static std::string Ask(const std::string& words) {
    return Medley() + "generate " + Path("run") + " " + words;
  }
  static json Json(const std::string& words) {
    const CommandResult printed = Shell(Ask(words + " --tokens 6 --json 2>/dev/null"));
    EXPECT_EQ(printed.code, 0) << words;
    return json::parse(printed.out, nullptr, false);
  }
  static std::string Shown(const std::string& name) { return " --image " + Path("shown/" + name + ".png"); }

  static std::unique_ptr<TempDirectory> work_;
};

std::unique_ptr<TempDirectory> AskedPictures::work_;

const std::string kWhich = "--prompt 'Which colour is it?'";

TEST_F(AskedPictures, AreShownByHandByFileAndInAConversation) {
  const json red = Json(kWhich + Shown("red")), dark = Json(kWhich + Shown("dark"));
  EXPECT_EQ(red.at("task"), "chat");
  EXPECT_NE(red.at("log_probability"), dark.at("log_probability")) << "it looks at them";
  EXPECT_EQ(Json("--prompt '<image>Which colour is it?'" + Shown("red")), red) << "where this model has them";
  EXPECT_EQ(Json(kWhich + Shown("wide")).at("reply"), red.at("reply")) << "one colour, of another size";
  EXPECT_NE(Json(kWhich + Shown("red") + Shown("dark")).at("log_probability"), red.at("log_probability"));

  const std::string asked =
      "--from " + Path("seen.jsonl") + " --out " + Path("replies.jsonl") + " --tokens 6 --json";
  ASSERT_EQ(Shell(Ask(asked)).code, 0);
  std::istringstream lines(ReadBytes(Path("replies.jsonl")));
  std::string line;
  for (const json& alone : {red, dark}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(json::parse(line).at("reply"), alone.at("reply"));
    EXPECT_NEAR(json::parse(line).at("reply_details").at("log_probability").get<double>(),
                alone.at("log_probability").get<double>(), 1e-3);
  }
  const CommandResult held = Shell("printf '/image " + Path("shown/red.png") +
                                   "\\nWhich colour is it?\\n' | " + Ask("--chat --tokens 6 2>/dev/null"));
  EXPECT_EQ(held.out, red.at("reply").get<std::string>() + "\n");
}

// In an earlier turn, or a reply.
TEST_F(AskedPictures, AMarkWithoutAFileIsTextAndCountsNone) {
  const CommandResult held =
      Shell("printf 'Say <image>\\n/image " + Path("shown/red.png") + "\\nWhich colour is it?\\n' | " +
            Ask("--chat --tokens 2 2>&1 >/dev/null"));
  EXPECT_EQ(held.code, 0) << held.out;
}

TEST_F(AskedPictures, ThatCannotBeShownAreNamed) {
  const auto refused = [](const std::string& words) {
    CommandResult result = Shell(Ask(words + " 2>&1 </dev/null"));
    EXPECT_EQ(result.code, 2) << words << "\n" << result.out;
    return result.out;
  };
  std::string five;
  for (int i = 0; i < 5; ++i) five += Shown("red");
  EXPECT_TRUE(Has(refused(kWhich + five), "it shows 5 pictures; a conversation has 4 at most"));
  EXPECT_TRUE(Has(refused(kWhich + Shown("nosuch")), "nosuch.png"));
  EXPECT_TRUE(Has(refused(kWhich + " --image " + Path("seen.jsonl")), "seen.jsonl"));
  EXPECT_TRUE(Has(refused("--prompt 'a <image> b <image>'" + Shown("red")),
                  "the words hold 2 <image>, and 1 file(s) are shown"));
  WriteBytes(Path("bad.jsonl"), R"({"prompt": "a", "image": "shown/red.png"})"
                                "\n"
                                R"({"prompt": "a", "image": "shown/none.png"})");
  const std::string bad = refused("--from " + Path("bad.jsonl") + " --out " + Path("no.jsonl"));
  EXPECT_TRUE(Has(bad, "bad.jsonl:2: ") && Has(bad, "none.png")) << bad;
}

// A small LLaVA, whose pictures stand among words and become its size.
class AskedLlava : public ::testing::Test {
 protected:
  static constexpr std::int64_t kVocabulary = 768, kImageToken = 5;  // of the tokenizer: "<image>"

  // Once, and in a test: what holds the folder is named by it.
  void SetUp() override {
    if (work_ == nullptr) Begin();
  }
  static void Begin() {
    work_ = std::make_unique<TempDirectory>();
    folder_ = std::make_unique<test::LlavaFolder>(kVocabulary, kImageToken, /*size=*/32);
    for (const auto& [name, width, red] :
         {std::tuple{"red", 32, 250}, {"dark", 32, 5}, {"wide", 70, 250}, {"pixel", 1, 250}}) {
      Picture picture(width, std::min(width, 32), 5);
      for (std::size_t i = 0; i < picture.pixels.size(); i += 3)
        picture.pixels[i] = static_cast<std::uint8_t>(red);
      WriteBytes(Path(std::string(name) + ".png"), EncodePng(picture));
    }
    WriteBytes(
        Path("format.json"),
        R"({"head": "user:", "to_assistant": "<eos>assistant:", "to_user": "<eos>user:", "tail": "<eos>",
                   "generation": "<eos>assistant:", "end": "<eos>", "image": "<image>\n",
                   "specials": ["<eos>", "<image>"]})");
    WriteBytes(Path("model.json"), json{{"kind", "agent"},
                                        {"tower", {{"pretrained", folder_->path().string()}}},
                                        {"language", {{"pretrained", folder_->path().string()}}},
                                        {"decoder", {{"layers", 1}, {"heads", 1}, {"ffn", 4}}}}
                                       .dump());
    std::string lines;
    for (const std::string name : {"red", "dark", "red", "wide"})
      lines += json{{"image", name + ".png"},
                    {"conversations",
                     {{{"from", "human"}, {"value", "<image>\nWhich colour is it?"}},
                      {{"from", "gpt"}, {"value", "It is " + name + "."}}}}}
                   .dump() +
               "\n";
    WriteBytes(Path("seen.jsonl"), lines);
    WriteBytes(Path("weights.json"), R"({"weights": {"chat": 1}})");
    const std::string configs = MEDLEY_SOURCE_DIR "/configs/";
    WriteBytes(
        Path("run.json"),
        json{
            {"model", "model.json"},
            {"tokenizer", configs + "tokenizers/small.model"},
            {"control_text", configs + "texts/control.txt"},
            {"weights", "weights.json"},
            {"chat", "format.json"},
            {"allow_unknown_vocabulary", true},
            {"steps", 3},
            {"threads", 1},
            {"plan", false},
            {"eval", {{"every", 0}}},
            {"tasks",
             {{"chat",
               {{"rows", 2},
                {"options", {{"data", "seen.jsonl"}, {"held_out", 0}, {"text_width", 64}, {"images", 1}}}}}}}}
            .dump());
    const CommandResult trained =
        Shell(Medley() + "train " + Path("run.json") + " --out " + Path("run") + " 2>&1");
    ASSERT_EQ(trained.code, 0) << trained.out;
  }
  static void TearDownTestSuite() { work_.reset(), folder_.reset(); }

  static std::string Path(const std::string& name) { return (*work_ / name).string(); }
  static std::string Shown(const std::string& name) { return " --image " + Path(name + ".png"); }
  static CommandResult Ask(const std::string& words) {
    return Shell(Medley() + "generate " + Path("run") + " " + words + " 2>&1");
  }
  static json Json(const std::string& words) {
    const CommandResult printed =
        Shell(Medley() + "generate " + Path("run") + " " + words + " --tokens 6 --json 2>/dev/null");
    EXPECT_EQ(printed.code, 0) << words;
    return json::parse(printed.out, nullptr, false);
  }
  static double Log(const json& reply) { return reply.at("log_probability").get<double>(); }

  static std::unique_ptr<TempDirectory> work_;
  static std::unique_ptr<test::LlavaFolder> folder_;
};

std::unique_ptr<TempDirectory> AskedLlava::work_;
std::unique_ptr<test::LlavaFolder> AskedLlava::folder_;

TEST_F(AskedLlava, SeesPicturesWhereTheyStandAmongTheWords) {
  const json red = Json(kWhich + Shown("red"));
  EXPECT_EQ(red.at("task"), "chat");
  EXPECT_EQ(Json("--prompt '<image>\nWhich colour is it?'" + Shown("red")), red)
      << "the format has the line end";
  EXPECT_NE(Log(Json(kWhich + Shown("dark"))), Log(red));
  EXPECT_NE(Log(Json("--prompt 'Which colour is it?<image>'" + Shown("red"))), Log(red));
  EXPECT_NE(Log(Json(kWhich + Shown("red") + Shown("red"))), Log(red));
  EXPECT_NEAR(Log(Json(kWhich + Shown("wide"))), Log(red), 1e-4) << "one colour, resized";
  EXPECT_NEAR(Log(Json(kWhich + Shown("pixel"))), Log(red), 1e-4);

  ASSERT_EQ(
      Ask("--from " + Path("seen.jsonl") + " --out " + Path("replies.jsonl") + " --tokens 6 --json").code, 0);
  std::istringstream lines(ReadBytes(Path("replies.jsonl")));
  std::string line;
  for (const std::string name : {"red", "dark", "red", "wide"}) {
    ASSERT_TRUE(std::getline(lines, line));
    const json said = json::parse(line), alone = Json(kWhich + Shown(name));
    EXPECT_EQ(said.at("reply"), alone.at("reply"));
    EXPECT_NEAR(Log(said.at("reply_details")), Log(alone), 1e-4);
  }
}

// By its own token, which the vocabulary has; as many as pictures, or none.
TEST_F(AskedLlava, AsItIsReadsItsTokenForPictures) {
  const json red = Json("--plain --prompt 'user:<image>Which?'" + Shown("red"));
  EXPECT_FALSE(red.contains("task"));
  EXPECT_NEAR(Log(Json("--plain --prompt 'user:<image>Which?'" + Shown("wide"))), Log(red), 1e-4);
  EXPECT_NE(Log(Json("--plain --prompt 'user:Which?'" + Shown("red"))), Log(red));
  const CommandResult two = Ask("--plain --prompt '<image>a<image>'" + Shown("red"));
  EXPECT_EQ(two.code, 2) << two.out;
  EXPECT_TRUE(Has(two.out, "2 tokens for pictures") && Has(two.out, "pictures are shown: 1")) << two.out;
}

// A conversation that is kept open by a pipe, in the background.
class OpenChat {
 public:
  OpenChat(const std::string& command, const TempDirectory& work) : pipe_((work / "pipe").string()) {
    ::unlink(pipe_.c_str());
    ::mkfifo(pipe_.c_str(), 0600);
    input_ = ::open(pipe_.c_str(), O_RDWR);
    child_ = std::make_unique<Background>(command + " <" + pipe_, work / "words");
  }
  ~OpenChat() { ::close(input_); }
  void Write(const std::string& words) const {
    ASSERT_EQ(::write(input_, words.data(), words.size()), std::ssize(words));
  }
  Background& child() { return *child_; }

 private:
  std::string pipe_;
  int input_ = -1;
  std::unique_ptr<Background> child_;
};

const std::string kLong = "--chat --temperature 9 --tokens 3900";

TEST_F(AskedChat, CtrlCEndsTheAnswerAndTheConversationGoesOn) {
  OpenChat chat(test::PlainMedley() + "generate " + Path("run") + " " + kLong, *work_);
  chat.Write("Say a number.\n");
  ASSERT_TRUE(chat.child().WaitUntil([&] {
    const std::string words = chat.child().words();  // a line that names the run, then the answer
    return Has(words, "\n") && words.size() - words.find('\n') > 40;
  })) << chat.child().words();
  chat.child().Interrupt();
  ASSERT_TRUE(chat.child().WaitUntil([&] { return Has(chat.child().words(), "interrupted after "); }))
      << chat.child().words();
  chat.Write("/quit\n");
  EXPECT_EQ(chat.child().Wait(), 0) << chat.child().words();
}

// A command at a terminal of its own, whose keys are pressed.
class AtTerminal {
 public:
  explicit AtTerminal(const std::string& command) {
    child_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ != 0) return;
    ::unsetenv("MEDLEY_STARTER");
    for (const int signal : {SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);
    ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    ::_exit(127);
  }
  ~AtTerminal() {
    ::close(terminal_);
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  AtTerminal(const AtTerminal&) = delete;
  AtTerminal& operator=(const AtTerminal&) = delete;

  void Press(const std::string& keys) const {
    ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), std::ssize(keys));
  }
  // Reads until it has shown so much; false where it ends before.
  template <typename Condition>
  bool WaitUntil(const Condition& condition) {
    std::array<char, 4096> bytes{};
    while (!condition(shown_)) {
      const ssize_t got = ::read(terminal_, bytes.data(), bytes.size());
      if (got <= 0) return false;
      shown_.append(bytes.data(), static_cast<std::size_t>(got));
    }
    return true;
  }
  int Wait() {
    WaitUntil([](const std::string&) { return false; });
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& shown() const { return shown_; }

 private:
  int terminal_ = -1;
  pid_t child_ = -1;
  std::string shown_;
};

const std::string kCtrlC = "\x03";

TEST_F(AskedChat, AnAnswerGrowsAtATerminalAndCtrlCEndsIt) {
  AtTerminal asked(test::PlainMedley() + "generate " + Path("run") +
                   " --prompt 'Say a number.' --temperature 9 --tokens 3900 2>" + Path("said"));
  ASSERT_TRUE(asked.WaitUntil([](const std::string& shown) { return shown.size() > 40; })) << asked.shown();
  asked.Press(kCtrlC);
  EXPECT_EQ(asked.Wait(), 130) << asked.shown();
  EXPECT_TRUE(Has(ReadBytes(Path("said")), "interrupted after ")) << ReadBytes(Path("said"));
}

// At whichever moment they come.
TEST_F(AskedChat, TwiceCtrlCEndsAConversation) {
  AtTerminal chat(test::PlainMedley() + "generate " + Path("run") + " " + kLong);
  ASSERT_TRUE(chat.WaitUntil([](const std::string& shown) { return Has(shown, "> "); })) << chat.shown();
  chat.Press("Say a number.\n");
  const std::size_t before = chat.shown().size();
  ASSERT_TRUE(chat.WaitUntil([&](const std::string& shown) { return shown.size() > before + 60; }))
      << chat.shown();
  chat.Press(kCtrlC);
  ASSERT_TRUE(chat.WaitUntil([](const std::string& shown) { return Has(shown, "interrupted after "); }))
      << chat.shown();
  chat.Press(kCtrlC);
  EXPECT_EQ(chat.Wait(), 130) << chat.shown();
}

TEST_F(AskedChat, CtrlCWithoutAnAnswerEndsTheConversation) {
  OpenChat chat(test::PlainMedley() + "generate " + Path("run") + " --chat --tokens 2", *work_);
  chat.Write("Say a number.\n");
  ASSERT_TRUE(chat.child().WaitUntil([&] { return Has(chat.child().words(), " a second"); }))
      << chat.child().words();
  chat.child().Interrupt();
  EXPECT_EQ(chat.child().Wait(), 130) << chat.child().words();
}

TEST_F(AskedChat, CtrlCWritesTheLinesThatAreAnswered) {
  std::string lines;
  for (int i = 0; i < 4000; ++i) lines += "{\"prompt\": \"Say a number.\"}\n";
  WriteBytes(Path("many.jsonl"), lines);
  AtTerminal asked(test::PlainMedley() + "generate " + Path("run") + " --from " + Path("many.jsonl") +
                   " --out " + Path("some.jsonl") + " --temperature 9 --tokens 60 --json");
  ASSERT_TRUE(asked.WaitUntil([](const std::string& shown) { return Has(shown, " of 4000 answered"); }))
      << asked.shown();
  asked.Press(kCtrlC);
  EXPECT_EQ(asked.Wait(), 130) << asked.shown();
  const std::vector<json> written = Lines("some.jsonl");
  EXPECT_GE(written.size(), 16U) << "those that were answered at once";
  EXPECT_LT(written.size(), 4000U);
  for (const json& line : written) EXPECT_NE(line.at("reply_details").at("end"), "interrupted");
  EXPECT_TRUE(Has(asked.shown(), std::to_string(written.size()) + " lines of 4000")) << asked.shown();
}

}  // namespace
}  // namespace medley
