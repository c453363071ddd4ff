#include <gtest/gtest.h>

#include <medley/base/json_document.h>
#include <medley/base/random.h>

#include "tests/base/random_json.h"

namespace medley {
namespace {

using nlohmann::json;

std::string At(SourcePosition at) { return std::to_string(at.line) + ":" + std::to_string(at.column); }

// The same value without positions.
json Plain(const JsonNode& node) {
  json value = node.IsObject() ? json::object() : node.IsArray() ? json::array() : node.scalar;
  for (const JsonMember& member : node.members) value[member.key] = Plain(member.value);
  for (const JsonNode& element : node.elements) value.push_back(Plain(element));
  return value;
}

TEST(JsonDocument, KnowsTheLineAndColumnOfEveryKeyAndValue) {
  const JsonDocument document = ParseJson(
      "{\n"
      "  \"a\": 12 ,\"b\":\ttrue,\n"
      "\n"
      "  \"long \\\" key\" : [ -1.5e3,\n"
      "      {\"x\" :null}, \"s\\u00e9\\\\\", false ]\n"
      "}\n");
  ASSERT_TRUE(document.parsed);
  const JsonNode& root = document.root;
  EXPECT_EQ(At(root.at), "1:1");
  EXPECT_EQ(At(root.members[0].at), "2:3");
  EXPECT_EQ(At(root.members[0].value.at), "2:8");
  EXPECT_EQ(At(root.members[1].at), "2:12");
  EXPECT_EQ(At(root.members[1].value.at), "2:17");
  EXPECT_EQ(root.members[2].key, "long \" key");
  EXPECT_EQ(At(root.members[2].at), "4:3");
  const JsonNode& list = root.members[2].value;
  EXPECT_EQ(At(list.at), "4:19");
  EXPECT_EQ(At(list.elements[0].at), "4:21");
  EXPECT_EQ(At(list.elements[1].at), "5:7");
  EXPECT_EQ(At(list.elements[1].members[0].at), "5:8");
  EXPECT_EQ(At(list.elements[1].members[0].value.at), "5:13");
  EXPECT_EQ(At(list.elements[2].at), "5:20");
  EXPECT_EQ(At(list.elements[3].at), "5:33");
}

TEST(JsonDocument, CountsCharactersNotBytesAndSkipsAByteOrderMark) {
  const JsonDocument document = ParseJson("\xef\xbb\xbf{\"\xc3\xa9\xe2\x82\xac\": 1}");
  ASSERT_TRUE(document.parsed);
  EXPECT_EQ(At(document.root.at), "1:1");
  EXPECT_EQ(At(document.root.members[0].value.at), "1:8");
}

TEST(JsonDocument, KeysThatStandTwiceAreReportedWithTheirPath) {
  const JsonDocument document =
      ParseJson("{\"a\": {\"b\": 1,\n \"c\": {},\n \"b\": {\"x\": [1]}},\n \"a\": 2}");
  ASSERT_TRUE(document.parsed);
  ASSERT_EQ(document.problems.size(), 2u);
  EXPECT_EQ(document.problems[0].path, "a.b");
  EXPECT_EQ(At(document.problems[0].at), "3:2");
  EXPECT_EQ(document.problems[1].path, "a");
  EXPECT_EQ(Plain(document.root), json::parse("{\"a\": {\"b\": 1, \"c\": {}}}"));
}

TEST(JsonDocument, SyntaxErrorsStandWhereTheTokenBegins) {
  const auto where = [](std::string_view text) {
    const JsonDocument document = ParseJson(text);
    EXPECT_FALSE(document.parsed) << text;
    return document.problems.empty() ? "" : At(document.problems.back().at);
  };
  EXPECT_EQ(where("{\"a\": 1,\n}"), "2:1");
  EXPECT_EQ(where("{\"a\": 1 \"b\": 2}"), "1:9");
  EXPECT_EQ(where("{\"a\" 1}"), "1:6");
  EXPECT_EQ(where("{\n\"a\": tru}"), "2:6");
  EXPECT_EQ(where("{\"a\": \"open\n}"), "1:7");
  EXPECT_EQ(where("{'a': 1}"), "1:2");
  EXPECT_EQ(where("{\"a\": [1, 2"), "1:12");
  EXPECT_EQ(where("{} x"), "1:4");
  EXPECT_EQ(where(""), "1:1");
  EXPECT_EQ(where("{\"a\": \"\xff\"}"), "1:7");
}

TEST(JsonDocument, SixtyFourLevelsAreTheMost) {
  EXPECT_TRUE(ParseJson(std::string(64, '[') + std::string(64, ']')).parsed);
  EXPECT_FALSE(ParseJson(std::string(65, '[') + std::string(65, ']')).parsed);
}

// Each position, looked up in the text, must be the start of its value.
void CheckPositions(const JsonNode& node, const std::vector<std::string>& lines) {
  ASSERT_LE(static_cast<std::size_t>(node.at.line), lines.size());
  const std::string& line = lines[static_cast<std::size_t>(node.at.line) - 1];
  std::size_t byte = 0;
  for (int column = 1; column < node.at.column; ++column) {
    do ++byte;
    while (byte < line.size() && (static_cast<unsigned char>(line[byte]) & 0xc0) == 0x80);
  }
  const char first = line.at(byte);
  const std::string expected = node.IsObject() ? "{" : node.IsArray() ? "[" : node.scalar.dump().substr(0, 1);
  ASSERT_EQ(std::string(1, first), expected) << line;
  for (const JsonMember& member : node.members) CheckPositions(member.value, lines);
  for (const JsonNode& element : node.elements) CheckPositions(element, lines);
}

TEST(JsonDocument, ReadsWhatNlohmannWritesAndPointsAtIt) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RowRandom random(seed);
    const json value = test::RandomJson(random, 0);
    const std::string text = value.dump(static_cast<int>(random.Below(4)) - 1);
    const JsonDocument document = ParseJson(text);
    ASSERT_TRUE(document.parsed) << text;
    ASSERT_EQ(Plain(document.root), value);
    std::vector<std::string> lines(1);
    for (const char c : text) {
      if (c == '\n')
        lines.emplace_back();
      else
        lines.back() += c;
    }
    CheckPositions(document.root, lines);
  }
}

TEST(JsonDocument, BytesAtRandomAreRefusedAndNeverCrash) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    RowRandom random(seed);
    std::string text = "{\"a\": [1, \"x\", {\"b\": null}], \"c\": -1.5e3}";
    for (int i = 0; i < 3; ++i) {
      text[static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(text.size())))] =
          random.Coin() ? "{}[],:\"\\e1"[random.Below(10)] : static_cast<char>(random.Below(256));
    }
    const JsonDocument document = ParseJson(text);
    EXPECT_EQ(document.parsed, json::accept(text)) << text;
    if (!document.parsed) {
      EXPECT_FALSE(document.problems.empty()) << text;
    }
  }
}

TEST(Describe, ShortensLongTextsAndKeepsUtf8Whole) {
  const auto described = [](const std::string& text) { return Describe(ParseJson(text).root); };
  EXPECT_EQ(described("12"), "12");
  EXPECT_EQ(described("\"a\\nb\""), "\"a\\nb\"");
  EXPECT_EQ(described("{}"), "an object");
  std::string euros;
  for (int i = 0; i < 100; ++i) euros += "\xe2\x82\xac";
  for (const char* before : {"", "x", "xx"}) {  // the cut falls on each byte of a character
    const std::string cut = described("\"" + std::string(before) + euros + "\"");
    EXPECT_LT(cut.size(), 80u);
    EXPECT_GT(cut.size(), 40u);
    EXPECT_NO_THROW(json(cut).dump()) << before;  // it refuses what is not UTF-8
    EXPECT_EQ(cut.find("\xef\xbf\xbd"), std::string::npos) << "a character was cut: " << cut;
  }
}

}  // namespace
}  // namespace medley
