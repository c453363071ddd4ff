#include <gtest/gtest.h>

#include <string>

#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::Has;
using test::Medley;
using test::Shell;

std::string Show(const std::string& vocabulary, const std::string& more = "") {
  return Shell(Medley() + "tokenizer show " MEDLEY_SOURCE_DIR "/" + vocabulary + " " + more + " 2>&1").out;
}

TEST(TokenizerVerb, ShowsBothKindsOfVocabularies) {
  EXPECT_EQ(Show("tests/text/cases/qwen.json", "--text 'the gold<eos>'"),
            "   257  the\n   263  \u0120gold\n   273  <|im_end|>\n");
  EXPECT_TRUE(Has(Show("tests/text/cases/qwen.json"), "   276  <forward>\n   277  <clock>\n"));
  EXPECT_TRUE(Has(Show("configs/tokenizers/small.model", "--text '<eos>'"), "     1  <eos>\n"));
}

TEST(TokenizerVerb, WhatIsNoVocabularyIsBadInput) {
  EXPECT_EQ(Shell(Medley() + "tokenizer show " MEDLEY_SOURCE_DIR "/README.md >/dev/null 2>&1").code, 2);
  EXPECT_TRUE(Has(Show("README.md"), "README.md: neither a tokenizer.json nor a SentencePiece vocabulary"));
}

}  // namespace
}  // namespace medley
