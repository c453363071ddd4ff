#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include <medley/base/error.h>
#include <medley/base/json_reader.h>
#include <medley/base/random.h>

#include "tests/base/random_json.h"

namespace medley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <typename Json = ordered_json>
std::string Refusal(const std::string& text, const JsonLimits& limits = {}) {
  try {
    ReadJson<Json>(text, "some.json", limits);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string ObjectOf(int keys) {
  std::string text = "{";
  for (int i = 0; i < keys; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
  return text + "}";
}

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(JsonReader, ReadsWhatNlohmannReads) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    RowRandom random(seed);
    const std::string text = test::RandomJson(random, 0).dump(static_cast<int>(random.Below(4)) - 1);
    EXPECT_EQ(ReadJson<json>(text, "").dump(), json::parse(text).dump());
    EXPECT_EQ(ReadJson(text, "").dump(), ordered_json::parse(text).dump());
  }
}

TEST(JsonReader, AMistakeHasItsPlaceAndItsWords) {
  EXPECT_EQ(Refusal("{\"a\": [1,\n 2,]}").rfind("some.json:2:4: not valid JSON: ", 0), 0u);
  EXPECT_EQ(Refusal("{\"a\": {\"b\": 1,\n \"b\": 2}}"),
            "some.json:2:2: a.b: the key stands twice (first on line 1); remove one");
  EXPECT_EQ(Refusal<json>("[{\"b\": 1, \"b\": 2}]"),
            "some.json:1:11: 0.b: the key stands twice (first on line 1); remove one");
  try {
    ReadJsonLine("{", "some.jsonl", 12);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("some.jsonl:12:2: ", 0), 0u) << error.what();
  }
}

TEST(JsonReader, DepthSizeAndValuesAreBounded) {
  EXPECT_NE(Refusal(std::string(300'000, '[')).find("nested more than 64 levels deep"), std::string::npos);
  EXPECT_NE(Refusal("[1, 2]", {.bytes = 5}).find("longer than 5 bytes"), std::string::npos);
  EXPECT_EQ(Refusal("[1, {\"a\": 2}]", {.values = 4}), "");
  EXPECT_NE(Refusal("[1, {\"a\": 2}]", {.values = 3}).find("more than 3 values"), std::string::npos);
}

// A byte is changed, left out or doubled; numbers are made large, and keys stand twice.
TEST(JsonReader, IsJsonKnowsWhatWouldBeRead) {
  std::int64_t good = 0, bad = 0;
  const auto compare = [&](const std::string& text, const JsonLimits& limits = {}) {
    const bool is_read = Refusal<json>(text, limits).empty();
    EXPECT_EQ(IsJson(text, limits), is_read) << text.substr(0, 200);
    ++(is_read ? good : bad);
  };
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RowRandom random(seed);
    std::string text = test::RandomJson(random, 0).dump();
    if (seed % 2 == 0) {  // keys without escapes
      for (std::size_t escape; (escape = text.find("\\\"")) != std::string::npos;) text.erase(escape, 2);
    }
    compare(text);
    const auto at = static_cast<std::size_t>(random.Below(std::ssize(text)));
    const std::string bytes = "\"\\{}[],:0-e. \t\n\x01\x80";
    switch (random.Below(3)) {
      case 0:
        text[at] = bytes[static_cast<std::size_t>(random.Below(std::ssize(bytes)))];
        break;
      case 1:
        text.erase(at, 1);
        break;
      default:
        text.insert(at, text.substr(at, 1));
    }
    compare(text);
  }
  for (const char* text : {"",
                           " ",
                           "1e999",
                           "-",
                           "nul",
                           "{\"a\":1,\"b\":{\"a\":1}}",
                           "{\"a\":1,\"b\":2,\"a\":3}",
                           "[{\"a\":1},{\"a\":1}]",
                           "[{\"b\":0,\"a\":1,\"b\":1}]",
                           "\"\xc3\"",
                           "\"\xc3\xa9\\n\\u00e9\"",
                           "\xef\xbb\xbf[1]",
                           "{\"a\":1,\"\\u0061\":2}",
                           "[-0, 01, 1]",
                           "[-0, 0.5, -1.25e3]",
                           "-",
                           "1.",
                           ".5",
                           "[1,]",
                           "{\"a\":1,}",
                           "{\"a\"}",
                           "truely",
                           "[true, false, null]",
                           "\"\\q\"",
                           "\"\\",
                           "\"\x7f\"",
                           "{\"\":1,\"\":2}",
                           "[1}",
                           "\f1",
                           "1 2"})
    compare(text);
  for (const std::size_t depth : {63, 64, 65}) compare(std::string(depth, '[') + std::string(depth, ']'));
  for (const std::size_t limit : {11, 12, 13}) compare("[1, {\"a\": 2}]", {.bytes = limit});
  for (const std::size_t limit : {3, 4, 5}) compare("[1, {\"a\": 2}]", {.values = limit});
  EXPECT_GT(good, 3000);
  EXPECT_GT(bad, 1000);
}

// Both kinds of tree; a quadratic one takes minutes.
TEST(JsonReader, TimeIsLinearInTheKeys) {
  const std::string text = ObjectOf(450'000);
  EXPECT_LT(Seconds([&] { EXPECT_EQ(ReadJson(text, "").size(), 450'000u); }), 10);
  EXPECT_LT(Seconds([&] { EXPECT_EQ(ReadJson<json>(text, "").size(), 450'000u); }), 10);
  EXPECT_LT(Seconds([&] { EXPECT_TRUE(IsJson(text)); }), 10);
  EXPECT_LT(Seconds([&] { EXPECT_EQ(ParseJson(text).root.members.size(), 450'000u); }), 10);
}

// A million mistakes are not a million lines, and a token of a megabyte is not repeated whole.
TEST(JsonReader, WhatIsSaidIsBoundedToo) {
  std::string twice = "{\"a\":1";
  for (int i = 0; i < 100'000; ++i) twice += ",\"a\":1";
  EXPECT_LE(ParseJson(twice + "}").problems.size(), 101u);
  EXPECT_LT(Refusal("{\"" + std::string(1 << 20, 'a') + "\n").size(), 1000u);
  EXPECT_LT(Refusal("[1" + std::string(1 << 20, '0') + "e999]").size(), 1000u);
  const std::string key = "\"" + std::string(1 << 20, 'a') + "\":1";
  EXPECT_LT(Refusal("{" + key + "," + key + "}").size(), 1000u);
}

}  // namespace
}  // namespace medley
