#include <medley/text/split_pattern.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tokenizer_cases.h"

#include <medley/base/error.h>
#include <medley/base/interrupt.h>

#include "tests/words.h"

namespace medley {
namespace {

using test::Has;
using Texts = std::vector<std::string>;

// What the pattern finds in a text.
Texts Found(const std::string& pattern, std::string_view text) {
  Texts found;
  for (const Span& span : SplitPattern(pattern, /*literal=*/false, "t.json").Spans(text)) {
    if (span.found) found.emplace_back(text.substr(span.begin, span.end - span.begin));
  }
  return found;
}

std::string ErrorOf(const std::string& pattern) {
  return InputErrorOf([&] { SplitPattern(pattern, /*literal=*/false, "t.json"); });
}

TEST(SplitPattern, WhiteSpaceIsUnicodes) {
  EXPECT_EQ(Found("\\s+", "a \u0085\u00a0\u3000b\u180e\u200bc"), (Texts{" \u0085\u00a0\u3000"}));
  EXPECT_EQ(Found("[\\sx]+", "a \u2003xb\u180e"), (Texts{" \u2003x"}));
  EXPECT_EQ(Found("\\S+", "a\u180e\u2003b"), (Texts{"a\u180e", "b"}));
  EXPECT_EQ(Found("[^\\S]+", "a\u180e\u2003b"), (Texts{"\u2003"}));
}

TEST(SplitPattern, ScriptsAreNotTheirExtensions) {
  // The mark U+30FC is Common; Katakana and Hiragana share it.
  EXPECT_EQ(Found("\\p{Katakana}+", "\u30ab\u30fc"), (Texts{"\u30ab"}));
  EXPECT_EQ(Found("\\P{L}+|\\p{^N}", "a1\u4f60"), (Texts{"a", "1", "\u4f60"}));
}

TEST(SplitPattern, LinesAnchorAsInOniguruma) {
  EXPECT_EQ(Found("^a|b$", "a b\na b"), (Texts{"a", "b", "a", "b"}));
  EXPECT_EQ(Found(".+", "a\rb\nc"), (Texts{"a\rb", "c"}));
}

TEST(SplitPattern, EmptyPlacesAreFoundOnce) {
  EXPECT_EQ(Found("x*", "xa\u00e9"), (Texts{"x", "", ""}));
  EXPECT_EQ(Found("", "a\u00e9").size(), 3);
}

TEST(SplitPattern, ALiteralHasNoMeaning) {
  const SplitPattern pattern("a.\\E[", /*literal=*/true, "t.json");
  EXPECT_EQ(pattern.Spans("xa.\\E[y").size(), 3);
  EXPECT_EQ(pattern.Spans("xab").size(), 1);
}

TEST(SplitPattern, WhatMeansSomethingElseToPcre2IsRefused) {
  for (const char* part :
       {"\\w",   "\\W",   "\\b",    "\\B",   "\\h",     "\\R",     "\\X",         "\\K",    "\\G",    "\\A",
        "\\z",   "\\Z",   "\\1",    "\\v",   "\\u0041", "\\Q",     "[[:alpha:]]", "[a[b]]", "[a&&b]", "[]a]",
        "a{,3}", "a{2}+", "(?m:a)", "(?s)a", "(?<n>a)", "(*ANY)a", "\\pL",        "\\"}) {
    const std::string error = ErrorOf(part);
    EXPECT_TRUE(Has(error, "t.json: ") && Has(error, "does not mean the same to PCRE2"))
        << part << ": " << error;
  }
  EXPECT_TRUE(Has(ErrorOf("(a"), "PCRE2 does not take the pattern"));
  EXPECT_TRUE(Has(ErrorOf("\\p{Klingon}"), "PCRE2 does not take the pattern"));
}

TEST(SplitPattern, APatternThatTakesForEverIsGivenUp) {
  const SplitPattern pattern("(?:a|aa)+[bc]", /*literal=*/false, "t.json");
  try {
    pattern.Spans(std::string(5'000, 'a'));
    ADD_FAILURE() << "it ended";
  } catch (const Error& error) {
    EXPECT_TRUE(Has(error.what(), "t.json: the pattern cannot cut a text of 5000 bytes")) << error.what();
  }
}

// Each search of it is short enough; there is one for every character.
TEST(SplitPattern, APatternThatTakesLongAtEveryPlaceIsGivenUp) {
  const SplitPattern pattern("(?:(?:a?){15}a{15}x)|.", /*literal=*/false, "t.json");
  const std::string text(100'000, 'a');
  try {
    pattern.Spans(text);
    ADD_FAILURE() << "it ended";
  } catch (const Error& error) {
    EXPECT_TRUE(Has(error.what(), "t.json: the pattern cannot cut a text of 100000 bytes")) << error.what();
  }
  EXPECT_EQ(pattern.Spans("bcd").size(), 3);
}

TEST(SplitPattern, ASearchThatTakesLongHeedsAnInterrupt) {
  const SplitPattern pattern("(?:(?:a?){15}a{15}x)|.", /*literal=*/false, "t.json");
  RequestInterrupt();
  EXPECT_THROW(pattern.Spans(std::string(100'000, 'a')), Interrupted);
  EXPECT_EQ(pattern.Spans("bcd").size(), 3);
  ForgetInterrupt();
}

// Quadratic in no run of white space that a text of code or of a table has.
TEST(SplitPattern, LongRunsOfWhiteSpaceAreFair) {
  const SplitPattern pattern("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+|[^\\s]+", /*literal=*/false, "t.json");
  std::string text;
  for (int i = 0; i < 200; ++i) text += std::string(static_cast<std::size_t>(50 * i), ' ') + "word";
  EXPECT_EQ(pattern.Spans(text).size(), 200 + 199 * 2);
  EXPECT_EQ(pattern.Spans(std::string(2'000'000, ' ')).size(), 1);
}

}  // namespace
}  // namespace medley
