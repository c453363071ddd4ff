#include <medley/text/tokenizer_json.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include "tokenizer_cases.h"

#include "tests/words.h"

namespace medley {
namespace {

using test::Has;
using Json = nlohmann::ordered_json;

std::string ErrorOf(const std::string& text) {
  return InputErrorOf([&] { ReadTokenizerJson(text, "t.json"); });
}

// What is said of the Qwen case with a change.
std::string ErrorWith(const std::function<void(Json&)>& change) {
  Json json = CaseJson("qwen");
  change(json);
  return ErrorOf(json.dump(1));
}

std::string ErrorWith(const std::string& pointer, const Json& value) {
  return ErrorWith([&](Json& json) { json[Json::json_pointer(pointer)] = value; });
}

TEST(TokenizerJson, BothSpellingsOfMergesAreTheSame) {
  Json json = CaseJson("qwen");
  ASSERT_TRUE(json["model"]["merges"][0].is_string());
  const TokenizerJson texts = ReadTokenizerJson(json.dump(), "t.json");
  for (Json& merge : json["model"]["merges"]) {
    const auto text = merge.get<std::string>();
    merge = {text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)};
  }
  const TokenizerJson pairs = ReadTokenizerJson(json.dump(), "t.json");
  ASSERT_EQ(texts.merges.size(), 15);
  for (std::size_t i = 0; i < texts.merges.size(); ++i) {
    EXPECT_EQ(texts.merges[i].left, pairs.merges[i].left);
    EXPECT_EQ(texts.merges[i].right, pairs.merges[i].right);
    EXPECT_EQ(texts.merges[i].made, pairs.merges[i].made);
  }
}

// What the tokenizers package 0.23.3 made of each: it counts added tokens, whatever ids the file has.
TEST(TokenizerJson, AnAddedTokenThatIsCountedOtherwiseElsewhereIsTold) {
  const auto told = [](const std::function<void(Json&)>& change) {
    Json json = CaseJson("qwen");
    change(json["added_tokens"]);
    return ReadTokenizerJson(json.dump(), "t.json").other_id;
  };
  EXPECT_EQ(told([](Json&) {}), "");
  EXPECT_EQ(told([](Json& added) { added.push_back({{"id", 276}, {"content", "<x>"}}); }), "");
  EXPECT_EQ(told([](Json& added) {
              added.insert(
                  added.begin() + 2,
                  Json{{"id", 7}, {"content", ReadTokenizerJson(CaseText("qwen"), "t.json").tokens[7]}});
            }),
            "")
      << "a token of the model";
  EXPECT_EQ(
      told([](Json& added) { std::swap(added[1]["id"], added[3]["id"]); }),
      "the added token \"<|im_start|>\" has the id 274 in the file and 272 in Hugging Face's tokenizers");
  EXPECT_EQ(
      told([](Json& added) { std::reverse(added.begin(), added.end()); }),
      "the added token \"<|vision_end|>\" has the id 275 in the file and 271 in Hugging Face's tokenizers");
}

TEST(TokenizerJson, WhatMedleyDoesNotReadIsRefusedByName) {
  const std::vector<std::tuple<std::string, Json, std::string>> refused = {
      {"/model/byte_fallback", true, "model.byte_fallback: byte_fallback is for"},
      {"/model/dropout", 0.1, "model.dropout: dropout makes"},
      {"/model/continuing_subword_prefix", "##",
       "model.continuing_subword_prefix: continuing_subword_prefix is for"},
      {"/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix: end_of_word_suffix is for"},
      {"/model/type", "WordPiece", "model.type: the model \"WordPiece\" is not"},
      {"/model/type", "Unigram", "model.type: the model \"Unigram\" is not"},
      {"/model/type", "WordLevel", "model.type: the model \"WordLevel\" is not"},
      {"/normalizer", {{"type", "NFKC"}}, "normalizer.type: the normalizer \"NFKC\" is not"},
      {"/normalizer",
       {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "Lowercase"}}}}},
       "normalizer.normalizers.1.type: the normalizer \"Lowercase\" is not"},
      {"/pre_tokenizer",
       {{"type", "Metaspace"}},
       "pre_tokenizer.type: the pre-tokenizer \"Metaspace\" is not"},
      {"/pre_tokenizer", nullptr, "has no \"pre_tokenizer\""},
      {"/pre_tokenizer/pretokenizers/1", {{"type", "Digits"}}, "pre_tokenizer: has no ByteLevel"},
      {"/pre_tokenizer/pretokenizers/2",
       {{"type", "Digits"}},
       "pre_tokenizer.pretokenizers.2: stands behind ByteLevel"},
      {"/pre_tokenizer/pretokenizers/0/behavior", "isolated", "expected Removed, Isolated"},
      {"/post_processor",
       {{"type", "BertProcessing"}},
       "post_processor.type: the post-processor \"BertProcessing\" is not"},
      {"/decoder", {{"type", "WordPiece"}}, "decoder.type: the decoder \"WordPiece\" is not"},
      {"/version", "2.0", "version: expected \"1.0\", found \"2.0\""}};
  for (const auto& [pointer, value, message] : refused) {
    const std::string error = ErrorWith(pointer, value);
    EXPECT_TRUE(Has(error, message) && error.starts_with("t.json:")) << pointer << ": " << error;
  }
}

TEST(TokenizerJson, WhatChangesNoIdIsRead) {
  EXPECT_EQ(ErrorWith("/model/dropout", 0.0), "");
  EXPECT_EQ(ErrorWith("/model/dropout", nullptr), "");
  EXPECT_EQ(ErrorWith("/model/continuing_subword_prefix", ""), "");
  EXPECT_EQ(ErrorWith("/model/type", "BPE"), "");
  EXPECT_EQ(ErrorWith("/normalizer", nullptr), "");
  EXPECT_EQ(ErrorWith("/decoder", nullptr), "");
  EXPECT_EQ(ErrorWith([](Json& json) { json.erase("added_tokens"); }), "");
}

TEST(TokenizerJson, AMergeWithoutItsTokensIsNamedWithItsLine) {
  Json json = CaseJson("qwen");
  Json& vocabulary = json["model"]["vocab"];
  // " the" goes; the last id takes its place, so that the ids have no hole.
  const auto id = vocabulary["\u0120the"];
  vocabulary.erase("\u0120the");
  vocabulary["'s"] = id;
  for (Json& token : json["added_tokens"]) token["id"] = token["id"].get<int>() - 1;
  const std::string text = json.dump(1);
  const std::string before = text.substr(0, text.find("\"\u0120 the\""));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::string error = ErrorOf(text);
  EXPECT_TRUE(error.starts_with("t.json:" + std::to_string(line) + ":")) << error;
  EXPECT_TRUE(Has(error, "model.merges.2: the merge needs the token \"\u0120the\"")) << error;
}

TEST(TokenizerJson, ADamagedMergeIsNamed) {
  for (const Json& merge :
       {Json("th"), Json("t h e"), Json({"t"}), Json({"t", "h", "e"}), Json(3), Json({1, 2})}) {
    const std::string error = ErrorWith("/model/merges/4", merge);
    EXPECT_TRUE(Has(error, "model.merges.4")) << merge << ": " << error;
  }
  EXPECT_TRUE(Has(ErrorWith("/model/merges", Json::object()), "model.merges: expected an array"));
}

TEST(TokenizerJson, IdsAreUniqueAndWithoutAHole) {
  EXPECT_TRUE(Has(ErrorWith("/model/vocab/th", 5), "the id 5 of \"th\" is that of"));
  EXPECT_TRUE(Has(ErrorWith("/model/vocab/th", 900),
                  "model.vocab.th: the id 900 of \"th\" is too large for a vocabulary of at "
                  "most 276 tokens"));
  EXPECT_TRUE(Has(ErrorWith("/model/vocab/th", -1), "expected an id from 0"));
  EXPECT_TRUE(Has(ErrorWith("/model/vocab/th", 1e300), "expected an id from 0"));
  EXPECT_TRUE(Has(ErrorWith("/added_tokens/0/id", 3), "the id 3 of \"<|endoftext|>\" is that of"));
  EXPECT_TRUE(Has(ErrorWith("/added_tokens/0/id", 276), "the id 276 of \"<|endoftext|>\" is too large"));
  EXPECT_TRUE(Has(ErrorWith("/added_tokens/0/content", "th"), "the id of \"th\" is 256 in model.vocab"));
  EXPECT_TRUE(Has(ErrorWith("/added_tokens/1/content", "<|endoftext|>"), "stands twice"));
  EXPECT_TRUE(Has(ErrorWith("/added_tokens/1/content", ""), "expected a text of 1 to 4096 bytes"));
  // An added token that the vocabulary has leaves a place at the end, and none in between.
  const std::string hole = ErrorWith([](Json& json) {
    json["added_tokens"][0]["content"] = "th";
    json["added_tokens"][0]["id"] = 256;
  });
  EXPECT_TRUE(Has(hole, "no token has the id 271, and there are 275")) << hole;
}

TEST(TokenizerJson, AnyCutOfAFileIsRefused) {
  const std::string text = CaseText("llama");
  for (std::size_t length = 0; length + 2 < text.size(); length += 37) {
    const std::string error = ErrorOf(text.substr(0, length));
    EXPECT_TRUE(Has(error, "t.json:1:") && Has(error, "not valid JSON")) << length << ": " << error;
  }
}

TEST(TokenizerJson, WhatIsNoTokenizerIsRefused) {
  EXPECT_TRUE(Has(ErrorOf("{}"), "has no \"model\""));
  EXPECT_TRUE(Has(ErrorOf("[]"), "expected an object, found an array"));
  EXPECT_TRUE(Has(ErrorOf(std::string(100'000, '[')), "nested more than 64 levels deep"));
  EXPECT_TRUE(Has(ErrorOf("{\"model\": \"\xff\"}"), "not valid JSON"));
  EXPECT_TRUE(Has(ErrorWith("/model", 3), "model: expected an object, found 3"));
  EXPECT_TRUE(Has(ErrorWith("/model/vocab", Json::array()), "model.vocab: expected an object"));
  EXPECT_TRUE(Has(ErrorWith("/pre_tokenizer/pretokenizers/0/pattern/Regex", std::string(70'000, 'a')),
                  "pattern.Regex: expected at most 65536 bytes, found 70000"));
  const std::string steps = ErrorWith([](Json& json) {
    Json& list = json["pre_tokenizer"]["pretokenizers"];
    for (int i = 0; i < 64; ++i) list.insert(list.begin(), Json(list[0]));
  });
  EXPECT_TRUE(Has(steps, "pretokenizers.64: expected at most 64 steps")) << steps;
  EXPECT_TRUE(Has(ErrorWith("/model/unk_token", "<none>"), "\"<none>\" is no token of model.vocab"));
}

TEST(TokenizerJson, IsToldFromASentencePieceModelByItsFirstByte) {
  EXPECT_TRUE(IsTokenizerJson("{}"));
  EXPECT_TRUE(IsTokenizerJson("\xef\xbb\xbf \n\t{"));
  for (const char* other : {"", " \n", "[", "\n\x0e\n\x05<unk>", "model"})
    EXPECT_FALSE(IsTokenizerJson(other)) << other;
}

}  // namespace
}  // namespace medley
