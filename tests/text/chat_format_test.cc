#include <medley/text/chat_format.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/config/run_config.h>
#include <medley/text/load_tokenizer.h>

#include "tests/text/byte_tokenizer.h"

namespace medley {
namespace {

using Ids = std::vector<std::int64_t>;

const ByteTokenizer& Bytes() {
  static const ByteTokenizer tokenizer({"<pad>", "<eos>", "<|im_start|>", "<|im_end|>", "<think>", "</think>",
                                        "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
                                        "<|eot_id|>", "<bos>", "<start_of_turn>", "<end_of_turn>"});
  return tokenizer;
}

ChatFormat Format(const std::string& name) { return {BuiltInChatFormat(name), Bytes()}; }

nlohmann::json ReadCases() {
  std::ifstream file(MEDLEY_CHAT_CASES);
  return nlohmann::json::parse(file);
}

// All answers learned.
Conversation ConversationIn(const nlohmann::json& messages) {
  Conversation conversation;
  for (const auto& message : messages) {
    const auto role = message["role"].get<std::string>();
    conversation.push_back({role, message["content"].get<std::string>(), role == "assistant"});
  }
  return conversation;
}

std::string WordsOf(const std::string& format, const Conversation& conversation) {
  try {
    Format(format).Encode(conversation);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// tests/text/chats/make.py renders them by the templates that models are published with.
TEST(ChatFormat, SixtyConversationsAreAsThePublishedTemplatesRenderThem) {
  const nlohmann::json cases = ReadCases();
  ASSERT_EQ(cases.size(), 60U);
  std::size_t compared = 0;
  for (const auto& one : cases) {
    const Conversation conversation = ConversationIn(one["messages"]);
    Conversation asked = conversation;
    asked.pop_back();
    for (const auto& [name, text] : one["texts"].items()) {
      const ChatFormat format = Format(name);
      EXPECT_EQ(format.Text(conversation), text.get<std::string>()) << name;
      EXPECT_EQ(format.PromptText(asked), one["prompts"][name].get<std::string>()) << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 234U);
}

TEST(ChatFormat, AFormatRefusesWhatItsTemplateRefuses) {
  for (const auto& one : ReadCases()) {
    const Conversation conversation = ConversationIn(one["messages"]);
    for (const char* name : {"chatml", "qwen3", "llama3", "gemma"})
      EXPECT_EQ(Format(name).ProblemOf(conversation).has_value(), !one["texts"].contains(name)) << name;
  }
}

// Each token that the format writes is a special one where the strings name it; none of what is said is.
TEST(ChatFormat, NoWordsEndATurnAndOnlyAnswersWithTheirEndsAreLearned) {
  for (const auto& one : ReadCases()) {
    const Conversation conversation = ConversationIn(one["messages"]);
    for (const auto& [name, text] : one["texts"].items()) {
      const ChatFormat format = Format(name);
      const ChatTokens tokens = format.Encode(conversation);
      EXPECT_EQ(Bytes().Decode(tokens.ids), text.get<std::string>());
      const auto ends = std::ranges::count(tokens.ids, format.end());
      const bool has_system_turn = conversation[0].role != "system" || name != "gemma";
      EXPECT_EQ(ends, std::ssize(conversation) - (has_system_turn ? 0 : 1)) << name;
      // What is learned, run by run: what was said, with its end.
      std::vector<std::string> runs;
      for (std::size_t i = 0; i < tokens.learned.size(); ++i) {
        if (i == 0 || tokens.learned[i] != tokens.learned[i - 1] + 1) runs.emplace_back();
        const std::int64_t id = tokens.ids[static_cast<std::size_t>(tokens.learned[i])];
        runs.back() += id == format.end() ? "[END]" : Bytes().Piece(id);
      }
      std::vector<std::string> said;
      for (const Turn& turn : conversation) {
        if (turn.role == "assistant") said.push_back(turn.text);
      }
      ASSERT_EQ(runs.size(), said.size()) << name;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        EXPECT_TRUE(runs[i].ends_with("[END]")) << name << ": " << runs[i];
        const std::string words = runs[i].substr(0, runs[i].size() - 5);
        EXPECT_EQ(words.find("[END]"), std::string::npos);
        EXPECT_NE(said[i].find(words), std::string::npos) << name;  // or without blanks at its ends
        EXPECT_TRUE(name != "chatml" || words == said[i]) << words;
        EXPECT_EQ(words.find("<think>\n\n"), std::string::npos) << name;
      }
    }
  }
}

TEST(ChatFormat, WhatIsAskedIsTheFrontOfWhatIsTrained) {
  for (const char* name : {"plain", "chatml", "qwen3", "llama3", "gemma"}) {
    const ChatFormat format = Format(name);
    Conversation conversation{
        {"user", "a"}, {"assistant", "b", true}, {"user", "c"}, {"assistant", "d", true}};
    const ChatTokens trained = format.Encode(conversation);
    conversation.pop_back();
    const Ids asked = format.Prompt(conversation);
    ASSERT_LT(asked.size(), trained.ids.size());
    EXPECT_TRUE(std::equal(asked.begin(), asked.end(), trained.ids.begin())) << name;
    EXPECT_EQ(trained.ids[asked.size()], 'd') << name;
    EXPECT_EQ(trained.ids[asked.size() + 1], format.end()) << name;
    EXPECT_EQ(trained.learned.end()[-2], std::ssize(asked)) << name;
  }
}

TEST(ChatFormat, ATurnThatIsNotLearnedIsLeftOutWithItsEnd) {
  const ChatFormat format = Format("chatml");
  Conversation conversation{
      {"user", "a"}, {"assistant", "bc", true}, {"user", "d"}, {"assistant", "e", true}};
  const ChatTokens all = format.Encode(conversation);
  EXPECT_EQ(all.learned.size(), 5U);
  conversation[1].learned = false;
  const ChatTokens last = format.Encode(conversation);
  EXPECT_EQ(last.ids, all.ids);
  EXPECT_EQ(last.learned, Ids(all.learned.end() - 2, all.learned.end()));
}

TEST(ChatFormat, PlainIsWordsAndEos) {
  EXPECT_EQ(Format("plain").Text({{"system", "s"}, {"user", "u"}, {"assistant", "a", true}}),
            "system:s<eos>user:u<eos>assistant:a<eos>");
}

// A vocabulary that makes one token of two line ends: that of a header and that of an answer stay two.
TEST(ChatFormat, NoTokenSpansAPromptAndItsReply) {
  const auto tokenizer = LoadTokenizer(MEDLEY_TOKENIZER_CASES "/qwen.json");
  ASSERT_EQ(tokenizer->Encode("\n\n").size(), 1U);
  const ChatFormat format(BuiltInChatFormat("chatml"), *tokenizer);
  const ChatTokens tokens = format.Encode({{"user", "the gold"}, {"assistant", "\nthe <|im_end|>", true}});
  Ids expected = tokenizer->Encode("<|im_start|>user\n");
  const auto add = [&](const Ids& ids) { expected.insert(expected.end(), ids.begin(), ids.end()); };
  add(tokenizer->Encode("the gold"));
  add(tokenizer->Encode("<|im_end|>\n<|im_start|>assistant\n"));
  const std::int64_t begin = std::ssize(expected);
  add(tokenizer->EncodeText("\nthe <|im_end|>"));
  const std::int64_t end = std::ssize(expected);
  add(tokenizer->Encode("<|im_end|>\n"));
  EXPECT_EQ(tokens.ids, expected);
  ASSERT_EQ(std::ssize(tokens.learned), end + 1 - begin);
  EXPECT_EQ(tokens.learned.front(), begin);
  EXPECT_EQ(tokens.learned.back(), end);
  EXPECT_EQ(std::ranges::count(tokens.ids, format.end()), 2);
}

TEST(ChatFormat, AVocabularyWithoutItsTokensIsRefused) {
  const ByteTokenizer few({"<pad>", "<eos>", "<|im_start|>"});
  EXPECT_NO_THROW(ChatFormat(BuiltInChatFormat("plain"), few));
  try {
    ChatFormat(BuiltInChatFormat("chatml"), few);
    FAIL() << "it has no end of a turn";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what())
                  .rfind("the chat format 'chatml' needs '<|im_end|>', which the vocabulary lacks", 0),
              0U)
        << error.what();
  }
}

TEST(ChatFormat, AFormatThatThereIsNotIsRefusedWithTheNearest) {
  try {
    BuiltInChatFormat("chatlm");
    FAIL() << "there is none";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'chatml'?"), std::string::npos) << error.what();
  }
}

TEST(ChatFormat, TheRunConfigKnowsTheSame) {
  std::vector<std::string> names;
  for (const ChatStrings& strings : BuiltInChatFormats()) names.push_back(strings.name);
  EXPECT_EQ(RunConfigSchema()["properties"]["chat"]["anyOf"][0]["enum"].get<std::vector<std::string>>(),
            names);
}

TEST(ChatFormat, ProblemsNameTheTurn) {
  const Conversation good{{"user", "a"}, {"assistant", "b", true}};
  EXPECT_EQ(WordsOf("chatml", good), "");
  EXPECT_EQ(WordsOf("chatml", {}), "turn 1: expected a turn at least, found none");
  EXPECT_EQ(WordsOf("chatml", {{"human", "a"}}), "turn 1: expected system, user or assistant, found 'human'");
  EXPECT_EQ(WordsOf("chatml", {{"assistant", "a", true}}),
            "turn 1: expected user, whom an assistant answers, found 'assistant'");
  EXPECT_EQ(WordsOf("chatml", {{"user", "a"}, {"system", "b"}}),
            "turn 2: expected user or assistant, as a system speaks first of all, found 'system'");
  EXPECT_EQ(WordsOf("chatml", {{"user", "a", true}}),
            "turn 1: expected assistant, whose turns alone are learned, found 'user'");
  EXPECT_EQ(WordsOf("chatml", {{"user", "a"}, {"assistant", "", true}}),
            "turn 2: expected words to learn, found none");
  EXPECT_EQ(WordsOf("llama3", {{"user", "a"}, {"assistant", " \n", true}}),
            "turn 2: expected words to learn, found none");
  EXPECT_EQ(WordsOf("gemma", {{"user", "a"}, {"user", "b"}}),
            "turn 2: expected assistant, as turns alternate in the chat format 'gemma', found 'user'");
  EXPECT_EQ(WordsOf("chatml", {{"system", "a"}}), "turn 1: expected a user behind the system, found the end");
}

}  // namespace
}  // namespace medley
