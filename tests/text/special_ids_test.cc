#include <medley/text/special_ids.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tokenizer_cases.h"

#include "tests/words.h"

namespace medley {
namespace {

using test::Has;
using Names = SpecialTokenNames;

SpecialIds Find(const std::string& name, const Names& names = {}) {
  return FindSpecialTokens(ReadTokenizerJson(CaseText(name), "t.json"), names, "t.json");
}

std::int64_t IdOf(const std::string& name, const std::string& token) {
  const auto tokens = ReadTokenizerJson(CaseText(name), "t.json").tokens;
  return std::find(tokens.begin(), tokens.end(), token) - tokens.begin();
}

std::string ErrorWith(const Names& names) {
  return InputErrorOf([&] { Find("qwen", names); });
}

TEST(SpecialIds, QwenHasFourOfThem) {
  const SpecialIds special = Find("qwen");
  const std::int64_t end = 276;  // 271 tokens of the model and five added ones
  EXPECT_EQ(special.ids, (std::array<std::int64_t, 7>{
                             IdOf("qwen", "<|endoftext|>"), IdOf("qwen", "<|im_end|>"), end, end + 1, end + 2,
                             IdOf("qwen", "<|vision_start|>"), IdOf("qwen", "<|vision_end|>")}));
  EXPECT_EQ(special.added, (std::vector<std::string>{"<forward>", "<clock>", "<anticlock>"}));
}

TEST(SpecialIds, LlamaHasTwoOfThem) {
  const SpecialIds special = Find("llama");
  EXPECT_EQ(special.ids[0], IdOf("llama", "<|finetune_right_pad_id|>"));
  EXPECT_EQ(special.ids[1], IdOf("llama", "<|eot_id|>"));
  EXPECT_EQ(special.added,
            (std::vector<std::string>{"<forward>", "<clock>", "<anticlock>", "<image>", "</image>"}));
}

TEST(SpecialIds, WithoutAnyAllAreAddedInTheirOrder) {
  const SpecialIds special = Find("digits");
  ASSERT_EQ(special.added.size(), kSpecialTokens.size());
  for (std::size_t i = 0; i < kSpecialTokens.size(); ++i) {
    EXPECT_EQ(special.added[i], kSpecialTokens[i]);
    EXPECT_EQ(special.ids[i], 271 + static_cast<std::int64_t>(i));
  }
}

TEST(SpecialIds, MedleysOwnNamesGoBeforeThoseOfOthers) {
  nlohmann::ordered_json json = CaseJson("qwen");
  json["added_tokens"][1]["content"] = "<eos>";
  const SpecialIds special = FindSpecialTokens(ReadTokenizerJson(json.dump(), "t.json"), {}, "t.json");
  EXPECT_EQ(special.ids[1], json["added_tokens"][1]["id"]);
}

TEST(SpecialIds, AGivenNameIsTakenOrAdded) {
  const SpecialIds special = Find("qwen", {{"<clock>", "<|im_start|>"}, {"<image>", "<picture>"}});
  EXPECT_EQ(special.ids[3], IdOf("qwen", "<|im_start|>"));
  EXPECT_EQ(special.added, (std::vector<std::string>{"<forward>", "<anticlock>", "<picture>"}));
  EXPECT_EQ(special.ids[5], 278);
}

TEST(SpecialIds, WhatIsGivenToOneTokenIsNoDefaultOfAnother) {
  const SpecialIds special = Find("qwen", {{"<eos>", "<|endoftext|>"}});
  EXPECT_EQ(special.ids[1], IdOf("qwen", "<|endoftext|>"));
  EXPECT_EQ(special.ids[0], 276);
  EXPECT_EQ(special.added.front(), "<pad>");
}

TEST(SpecialIds, NamesThatCannotBeAreRefused) {
  EXPECT_TRUE(
      Has(ErrorWith({{"<pda>", "x"}}), "special_tokens: no such special token; did you mean '<pad>'?"));
  EXPECT_TRUE(Has(ErrorWith({{"<pad>", "<|im_end|>"}, {"<eos>", "<|im_end|>"}}),
                  "special_tokens.<pad>: '<|im_end|>' in t.json is <eos> already"));
  EXPECT_TRUE(Has(ErrorWith({{"<pad>", "<eos>"}}),
                  "special_tokens.<pad>: '<eos>' in t.json is medley's name of another"));
  EXPECT_TRUE(Has(ErrorWith({{"<pad>", ""}}), "is empty"));
}

TEST(SpecialIds, ASentencePieceModelHasMedleysNames) {
  EXPECT_EQ(InputErrorOf([] { RequireOwnNames({{"<pad>", "<pad>"}}, "small.model"); }), "");
  EXPECT_TRUE(Has(InputErrorOf([] {
                    RequireOwnNames({{"<pad>", "<|pad|>"}}, "small.model");
                  }),
                  "special_tokens.<pad>: small.model is a SentencePiece model"));
}

}  // namespace
}  // namespace medley
