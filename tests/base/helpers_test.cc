#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/random.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

TEST(Utf8, WhatIsNoCharacterIsReplacedByteForByte) {
  EXPECT_EQ(ValidUtf8(""), "");
  EXPECT_EQ(ValidUtf8("caf\xc3\xa9 \xf0\x9f\x98\x80\n"), "caf\xc3\xa9 \xf0\x9f\x98\x80\n");
  EXPECT_EQ(ValidUtf8("caf\xe9"), "caf\xef\xbf\xbd");
  EXPECT_EQ(ValidUtf8("\xf0\x9f\x98"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");  // a longer form than needed
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80 x").substr(9), " x");        // a surrogate
  EXPECT_STREQ(Error("plugin 'x': caf\xe9").what(), "plugin 'x': caf\\xe9");
  EXPECT_EQ(JsonText(nlohmann::json("caf\xe9")), "\"caf\xef\xbf\xbd\"");
}

TEST(Printables, NothingOfAStrangersTextMovesACursorEndsALineOrTurnsWords) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"a \x1b[2J\a\r\n\t", "a \\x1b[2J\\x07\\x0d\\x0a\\x09"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x7f", "\\u007f"},
      {"\xc2\x80\xc2\x9b\xc2\x9f", "\\u0080\\u009b\\u009f"},
      {"\u2028\u2029\u202a\u202e\u2066\u2069", "\\u2028\\u2029\\u202a\\u202e\\u2066\\u2069"},
      {"caf\xe9", "caf\\xe9"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"\xf0\x9f\x98", "\\xf0\\x9f\\x98"}};
  for (const auto& [text, printable] : cases) EXPECT_EQ(Printable(text), printable);
  for (const std::string text :
       {"Größe", "\u00a0", "猫 🐈‍⬛ עברית", "\u2027\u202f\u2065", "a\\b'\"<"})
    EXPECT_EQ(Printable(text), text);
  EXPECT_EQ(PrintableLines("a\tb\n\x1b\n"), "a\tb\n\\x1b\n");
}

TEST(Printables, JsonStaysTheSameJsonAndAMessageIsNotCut) {
  nlohmann::json json = {{"a\x1b\x7f\xc2\x9b", "\u202e\n\"\\"}};
  EXPECT_EQ(nlohmann::json::parse(PrintableLines(JsonText(json, 2))), json);
  EXPECT_STREQ(Error(std::string("a\0b", 3)).what(), "a\\x00b");
}

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("abc", ""), 3u);
  EXPECT_EQ(EditDistance("steps", "steps"), 0u);
  EXPECT_EQ(EditDistance("stpes", "steps"), 1u);
  EXPECT_EQ(EditDistance("Steps", "steps"), 0u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("ca", "abc"), 3u);
}

TEST(EditDistance, IsSymmetricAndObeysOneEdit) {
  RowRandom random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string a, b;
    for (std::int64_t n = random.Below(7); n > 0; --n) a += static_cast<char>('a' + random.Below(3));
    for (std::int64_t n = random.Below(7); n > 0; --n) b += static_cast<char>('a' + random.Below(3));
    ASSERT_EQ(EditDistance(a, b), EditDistance(b, a));
    ASSERT_EQ(EditDistance(a, b) == 0, a == b);
    ASSERT_LE(EditDistance(a + "x", b), EditDistance(a, b) + 1);
  }
}

TEST(NearPaths, FindAKeyByItsNameOnWhateverLevel) {
  const std::vector<std::string> keys = {
      "steps", "optimizer", "optimizer.rate", "eval.rows",       "eval.every",        "save.every",
      "tasks", "tasks.*",   "tasks.*.rows",   "tasks.*.options", "tasks.*.options.*", "groups.*.match"};
  using Paths = std::vector<std::string>;
  EXPECT_EQ(NearPaths("rate", keys), Paths{"optimizer.rate"});
  EXPECT_EQ(NearPaths("eval.rat", keys), Paths{"optimizer.rate"});
  EXPECT_EQ(NearPaths("optimizer.steps", keys), Paths{"steps"});
  EXPECT_EQ(NearPaths("tasks.zoom.deep.steps", keys), Paths{"steps"});
  EXPECT_EQ(NearPaths("every", keys), (Paths{"eval.every", "save.every"}));
  EXPECT_EQ(NearPaths("save.more.every", keys), Paths{"save.every"}) << "the one that shares most";
  EXPECT_EQ(NearPaths("rows", keys), (Paths{"eval.rows", "tasks.NAME.rows"}));
  EXPECT_EQ(NearPaths("zoom.rows", keys), Paths{"tasks.zoom.rows"});
  EXPECT_EQ(NearPaths("tasks.rows", keys), Paths{"tasks.NAME.rows"});
  EXPECT_EQ(NearPaths("tasks.zoom.options.rows", keys), Paths{"tasks.zoom.rows"});
  EXPECT_EQ(NearPaths("optimizer.groups.0.match", keys), Paths{"groups.0.match"});
  EXPECT_EQ(NearPaths("tasks.zoom.file", keys), Paths{"tasks.zoom.options.file"})
      << "a name that a map takes";
  EXPECT_EQ(NearPaths("optimizer.zebra", keys), Paths());
  EXPECT_EQ(NearPaths("x", keys), Paths());
  EXPECT_EQ(NearPaths("", keys), Paths());
  EXPECT_EQ(NearPaths("steps", {}), Paths());
}

TEST(DidYouMean, NamesTheNearestAndNothingFar) {
  const std::vector<std::string> names = {"control", "position_qa", "beta1", "beta2"};
  EXPECT_EQ(DidYouMean("contrl", names), "; did you mean 'control'?");
  EXPECT_EQ(DidYouMean("postion_qa", names), "; did you mean 'position_qa'?");
  EXPECT_EQ(DidYouMean("beta", names), "; did you mean 'beta1' or 'beta2'?");
  EXPECT_EQ(DidYouMean("zebra", names), "");
  EXPECT_EQ(DidYouMean("", names), "");
  EXPECT_EQ(DidYouMean(std::string(1 << 20, 'x'), names), "");
  EXPECT_EQ(DidYouMean("x", {}), "");
}

TEST(Bytes, AreWrittenForPeople) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(3LL << 29), "1.5 GiB");
  EXPECT_EQ(FormatBytes(6LL << 30), "6 GiB");
  EXPECT_EQ(FormatBytes((1LL << 30) - 1), "1 GiB");
  EXPECT_EQ(FormatBytes(-1536), "-1.5 KiB");
  EXPECT_EQ(FormatBytes(INT64_MIN), "-8192 PiB");
}

TEST(Bytes, AreReadInEveryUnit) {
  EXPECT_EQ(ParseBytes("6GiB"), 6LL << 30);
  EXPECT_EQ(ParseBytes("1.5 MiB"), 3LL << 19);
  EXPECT_EQ(ParseBytes("500MB"), 500000000);
  EXPECT_EQ(ParseBytes("1024"), 1024);
  EXPECT_EQ(ParseBytes("12b"), 12);
  EXPECT_EQ(ParseBytes("2tib"), 2LL << 40);
  for (const char* bad :
       {"", "GiB", "-1", "6 G", "6GiBs", "nan", "inf", "1e30", "9999999TiB", "6.GiB.", "0x10"}) {
    EXPECT_THROW(ParseBytes(bad), InputError) << bad;
  }
  for (const std::int64_t bytes : {1LL << 10, 3LL << 29, 5LL << 40}) {
    EXPECT_EQ(ParseBytes(FormatBytes(bytes)), bytes);
  }
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "medley_base_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  static std::string MessageOf(const fs::path& file, std::int64_t most = 1 << 20) {
    try {
      ReadFile(file, most);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  fs::path directory_;
};

TEST_F(Files, AreReadWhole) {
  const std::string bytes = std::string("a\0b\n", 4) + std::string(200000, 'x');
  std::ofstream(directory_ / "f", std::ios::binary) << bytes;
  EXPECT_EQ(ReadFile(directory_ / "f"), bytes);
  EXPECT_NE(MessageOf(directory_ / "f", 1000).find("longer than 1000 B"), std::string::npos);
  std::ofstream(directory_ / "empty", std::ios::binary).close();
  EXPECT_EQ(ReadFile(directory_ / "empty"), "");
}

TEST_F(Files, ThatCannotBeReadSayWhy) {
  std::ofstream(directory_ / "weights.json") << "{}";
  EXPECT_EQ(MessageOf(directory_ / "wieghts.json"),
            "no such file: " + (directory_ / "wieghts.json").string() + "; did you mean 'weights.json'?");
  EXPECT_NE(MessageOf(directory_).find("is a directory; expected a file"), std::string::npos);
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(MessageOf(directory_ / "pipe").find("is a FIFO"), std::string::npos);
  EXPECT_NE(MessageOf("/dev/null").find("is a device"), std::string::npos);
  EXPECT_NE(MessageOf(directory_ / "weights.json/x"), "");
  EXPECT_EQ(DirectoryProblem(directory_), "");
  EXPECT_NE(DirectoryProblem(directory_ / "weights.json"), "");
}

TEST_F(Files, AreCalledAsPeopleCallThem) {
  EXPECT_EQ(DisplayPath(fs::current_path() / "a" / "b.json"), "a/b.json");
  EXPECT_EQ(DisplayPath("/nowhere/b.json"), "/nowhere/b.json");
  EXPECT_EQ(DisplayPath("a/b.json"), "a/b.json");
}

}  // namespace
}  // namespace medley
