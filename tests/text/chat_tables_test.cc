#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/text/chat_file.h>
#include <medley/text/chat_format.h>

#include "tests/text/byte_tokenizer.h"

// Chat formats of files, and those that tools/chat-format finds of the templates of PyPI's trl:
// tests/text/chats/make_tables.py.
namespace medley {
namespace {

using nlohmann::json;

json ReadTables() {
  std::ifstream file(MEDLEY_CHAT_TABLES);
  return json::parse(file);
}

// All answers learned. Of a turn's pieces a picture is null.
Conversation ConversationOf(const json& turns) {
  Conversation conversation;
  for (const json& pieces : turns) {
    const auto role = pieces[0].get<std::string>();
    Turn turn{.role = role, .text = "", .learned = role == "assistant"};
    for (const json& piece : pieces[1]) {
      if (piece.is_null())
        turn.pictures.push_back(turn.text.size());
      else
        turn.text += piece.get<std::string>();
    }
    conversation.push_back(std::move(turn));
  }
  return conversation;
}

// FNV-1a of 64 bits.
std::string Hashed(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string digits(16, '0');
  for (std::size_t i = 0; i < 16; ++i) digits[15 - i] = "0123456789abcdef"[(value >> (4 * i)) & 15];
  return digits;
}

bool ShowsPictures(const Conversation& conversation) {
  for (const Turn& turn : conversation) {
    if (!turn.pictures.empty()) return true;
  }
  return false;
}

// The words of every name that its strings have.
ByteTokenizer VocabularyOf(const ChatStrings& strings) {
  std::vector<std::string> names = strings.specials;
  names.insert(names.end(), {"<pad>", "<eos>", "<BOS>", "<EOS>"});
  return ByteTokenizer(names);
}

void Compare(const json& one, const std::vector<Conversation>& conversations) {
  const ChatStrings strings = ReadChatText("table.json", one["table"].dump());
  EXPECT_EQ(json(ToJson(strings)), one["table"]) << strings.name;
  const ByteTokenizer vocabulary = VocabularyOf(strings);
  const ChatFormat format(strings, vocabulary);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    const json& hashes = one["hashes"][i];
    const bool is_shown = !strings.image.empty() || !ShowsPictures(conversations[i]);
    const bool takes = is_shown && !format.ProblemOf(conversations[i]);
    EXPECT_EQ(takes, !hashes[0].is_null()) << strings.name << ", conversation " << i;
    if (!takes) continue;
    Conversation asked = conversations[i];
    asked.pop_back();
    EXPECT_EQ(Hashed(format.Text(conversations[i])), hashes[0].get<std::string>())
        << strings.name << ", conversation " << i << ": " << format.Text(conversations[i]);
    if (hashes[1].is_null()) continue;
    EXPECT_EQ(Hashed(format.PromptText(asked)), hashes[1].get<std::string>())
        << strings.name << ", conversation " << i << ": " << format.PromptText(asked);
    EXPECT_EQ(vocabulary.Decode(format.Encode(conversations[i]).ids), format.Text(conversations[i]));
    ++compared;
  }
  EXPECT_GE(compared, 20U) << strings.name;
  for (const json& text : one["texts"]) {
    Conversation conversation = conversations[text[0].get<std::size_t>()];
    EXPECT_EQ(format.Text(conversation), text[1].get<std::string>());
    conversation.pop_back();
    if (text[2].is_null()) continue;
    EXPECT_EQ(format.PromptText(conversation), text[2].get<std::string>());
  }
}

TEST(ChatTables, TheFormatsOfFortyOneTemplatesWriteWhatTheseWrite) {
  const json tables = ReadTables();
  std::vector<Conversation> conversations;
  for (const json& turns : tables["conversations"]) conversations.push_back(ConversationOf(turns));
  ASSERT_EQ(conversations.size(), 60U);
  ASSERT_EQ(tables["formats"].size(), 41U);
  std::size_t with_pictures = 0, as_parts = 0;
  for (const auto& [name, one] : tables["formats"].items()) {
    Compare(one, conversations);
    with_pictures += one["table"].contains("image") ? 1 : 0;
    as_parts += one["form"] == "parts" ? 1 : 0;
  }
  EXPECT_EQ(with_pictures, 20U);
  EXPECT_EQ(as_parts, 18U);
}

// What is learned of an answer ends with the format's own token, or where another one ends it there, with
// that.
TEST(ChatTables, AnswersAreLearnedWithTheTokenThatEndsThem) {
  const json tables = ReadTables();
  const Conversation conversation{
      {"user", "a"}, {"assistant", "b", true}, {"user", "c"}, {"assistant", "d", true}};
  for (const auto& [name, one] : tables["formats"].items()) {
    const ChatStrings strings = ReadChatText("table.json", one["table"].dump());
    const ByteTokenizer vocabulary = VocabularyOf(strings);
    const ChatTokens tokens = ChatFormat(strings, vocabulary).Encode(conversation);
    std::string learned;
    for (const std::int64_t place : tokens.learned)
      learned += vocabulary.Piece(tokens.ids[static_cast<std::size_t>(place)]);
    const std::string& end = strings.end;
    const std::string in_middle = name == "gptoss" ? "<|end|>" : end,
                      at_last = strings.tail.empty() ? "" : end;
    EXPECT_EQ(learned, "b" + in_middle + "d" + at_last) << name;
  }
}

std::string WordsOf(const json& table) {
  try {
    ReadChatText("talk.json", table.dump(2));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

json Least() {
  return {{"head", "<u>"}, {"to_assistant", "<a>"}, {"to_user", "<e><u>"},
          {"tail", "<e>"}, {"generation", "<a>"},   {"end", "<e>"}};
}

TEST(ChatTables, AFileSaysWhatItHasAndTheRestFollows) {
  const ChatStrings strings = ReadChatText("configs/talk.json", Least().dump());
  EXPECT_EQ(strings.name, "talk");
  EXPECT_EQ(strings.to_last, "<a>");
  EXPECT_FALSE(strings.user_tail.has_value());
  const ByteTokenizer vocabulary({"<pad>", "<eos>", "<u>", "<a>", "<e>"});
  const ChatFormat format(strings, vocabulary);
  EXPECT_EQ(format.Text({{"user", "x"}, {"assistant", "y", true}}), "<u>x<a>y<e>");
  const auto problem = format.ProblemOf({{"system", "s"}, {"user", "x"}, {"assistant", "y", true}});
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->what, "expected user, as the chat format 'talk' knows no system, found 'system'");
}

TEST(ChatTables, AFileIsRefusedInASentence) {
  const auto with = [](const std::string& key, const json& value) {
    json table = Least();
    table[key] = value;
    return WordsOf(table);
  };
  EXPECT_EQ(WordsOf(Least()), "");
  EXPECT_NE(with("end", "<x>").find("end: stands neither in to_user nor in tail"), std::string::npos)
      << with("end", "<x>");
  EXPECT_NE(with("specials", {"<u>", "<x>"}).find("specials.1: stands in none of the strings; leave it out"),
            std::string::npos)
      << with("specials", {"<u>", "<x>"});
  EXPECT_NE(
      with("images_first", true).find("images_first: is about pictures among words, and image is not given"),
      std::string::npos)
      << with("images_first", true);
  EXPECT_NE(with("trims", {{"model", {{"front", "lines"}}}}).find("expected system, user, assistant or last"),
            std::string::npos);
  EXPECT_NE(with("trims", {{"user", {{"front", "all"}}}}).find(R"(expected "none", "lines" or "blanks")"),
            std::string::npos)
      << with("trims", {{"user", {{"front", "all"}}}});
  EXPECT_NE(with("after_system", "<x>").find("without system none are there"), std::string::npos);
  EXPECT_NE(with("hed", "<x>").find("hed"), std::string::npos);
  EXPECT_NE(with("head", 3).find("expected a string, found 3"), std::string::npos) << with("head", 3);
  json table = Least();
  table.erase("tail");
  EXPECT_NE(WordsOf(table).find("tail"), std::string::npos);
}

TEST(ChatTables, AVocabularyThatLacksATokenOfThemIsRefused) {
  const ByteTokenizer vocabulary({"<pad>", "<eos>", "<u>", "<e>"});
  try {
    ChatFormat(ReadChatText("talk.json", Least().dump()), vocabulary);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(
        std::string(error.what()).find("the chat format 'talk' needs '<a>', which the vocabulary lacks"),
        std::string::npos)
        << error.what();
  }
}

TEST(ChatTables, PicturesStandWhereTheFormatHasThem) {
  json table = Least();
  table["image"] = "<i>";
  table["specials"] = {"<u>", "<a>", "<e>", "<i>"};
  const ByteTokenizer vocabulary({"<pad>", "<eos>", "<u>", "<a>", "<e>", "<i>"});
  const auto text = [&](const Turn& user) {
    return ChatFormat(ReadChatText("talk.json", table.dump()), vocabulary)
        .Text({user, {"assistant", "y", true}});
  };
  const Turn two{.role = "user", .text = " ab ", .pictures = {2, 4}},
      front{.role = "user", .text = "a", .pictures = {0, 0}};
  EXPECT_EQ(text(two), "<u> a<i>b <i><a>y<e>");
  EXPECT_EQ(text(front), "<u><i><i>a<a>y<e>");
  table["trims"] = {{"user", {{"front", "blanks"}, {"back", "blanks"}}}};
  EXPECT_EQ(text(two), "<u>a<i>b <i><a>y<e>");
  table["trims_pieces"] = true;
  EXPECT_EQ(text(two), "<u>a<i>b<i><a>y<e>");
  table["images_first"] = true;
  table["image_drops"] = ">";
  EXPECT_EQ(text(two), "<u<i><i>ab<a>y<e>");
  EXPECT_EQ(text({.role = "user", .text = "a"}), "<u>a<a>y<e>");
}

}  // namespace
}  // namespace medley
