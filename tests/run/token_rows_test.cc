#include <gtest/gtest.h>

#include <medley/base/files.h>
#include <medley/run/token_rows.h>
#include <medley/run/validate.h>

#include <nlohmann/json.hpp>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kTokens = 276;  // of the case; medley adds <forward>, <clock> and <anticlock>
const char* const kSentencePieces = MEDLEY_SOURCE_DIR "/configs/tokenizers/small.model";

Json VocabularyCase(const std::string& name = "qwen") {
  return Json::parse(ReadFile(MEDLEY_SOURCE_DIR "/tests/text/cases/" + name + ".json"));
}

void AddToken(Json& vocabulary, std::int64_t id, const std::string& content) {
  vocabulary["added_tokens"].push_back({{"id", id}, {"content", content}});
}

// A folder, whose tokenizer.json is `own` ("": it has none), read with the vocabulary of a file.
class TokenRowsTest : public ::testing::Test {
 protected:
  TokenRows Rows(const fs::path& file, std::int64_t rows) const {
    return CompareTokens(ReadVocabulary(file), file, work_ / "folder", rows);
  }
  fs::path Folder(const Json& own) const { return work_.Write("folder/tokenizer.json", own.dump()); }
  fs::path Other(const Json& vocabulary) const { return work_.Write("other.json", vocabulary.dump()); }

  Workspace work_;
};

TEST_F(TokenRowsTest, OfTheFoldersOwnTokenizerOnlyMedleysTokensAreNew) {
  const fs::path own = Folder(VocabularyCase());
  const fs::path copy = Other(VocabularyCase());
  for (const fs::path& file : {own, copy}) {
    for (const std::int64_t rows : {kTokens, kTokens + 2, kTokens + 100}) {
      const TokenRows found = Rows(file, rows);
      EXPECT_EQ(found.ids, (std::vector<std::int64_t>{kTokens, kTokens + 1, kTokens + 2}));
      EXPECT_EQ(found.strange(), 0);
      EXPECT_EQ(found.Problem(0), "");
      EXPECT_EQ(found.UnknownProblem(), "");
      EXPECT_TRUE(Has(found.Words(), std::to_string(rows) + " rows, 3 rows are new: <forward>, <clock>, "
                                                            "<anticlock>"))
          << found.Words();
    }
  }
}

// What medley exported and is read with the vocabulary that it had before.
TEST_F(TokenRowsTest, TokensThatTheFolderHasByNowAreNotNew) {
  Json exported = VocabularyCase();
  for (const char* token : {"<forward>", "<clock>", "<anticlock>"})
    AddToken(exported, std::ssize(exported["added_tokens"]) + 271, token);
  Folder(exported);
  const TokenRows found = Rows(Other(VocabularyCase()), kTokens + 3);
  EXPECT_TRUE(found.ids.empty());
  EXPECT_TRUE(Has(found.Words(), "279 rows, none is new")) << found.Words();
}

TEST_F(TokenRowsTest, GrowthBeyondMedleysOwnTokensNeedsANumber) {
  fs::create_directories(work_ / "folder");
  const TokenRows found = Rows(Other(VocabularyCase()), kTokens - 6);
  EXPECT_EQ(found.grown, 6);
  EXPECT_EQ(found.ids.size(), 3);
  EXPECT_TRUE(Has(found.Problem(5), "has 270 rows, none for 6 tokens") &&
              Has(found.Problem(5), "--allow-new-rows 6"))
      << found.Problem(5);
  EXPECT_EQ(found.Problem(6), "");
  EXPECT_TRUE(Has(found.Words(), "9 rows are new: <forward>, <clock>, <anticlock> and 6 other tokens"))
      << found.Words();
}

TEST_F(TokenRowsTest, AnotherModelsTokenizerIsFoundTokenByToken) {
  Folder(VocabularyCase("gpt2"));
  const TokenRows other = Rows(Other(VocabularyCase("qwen")), 1000);
  EXPECT_GT(other.strange(), 0);
  EXPECT_TRUE(Has(other.Problem(0), "of other tokens than in ")) << other.Problem(0);

  const TokenRows pieces = Rows(kSentencePieces, 1 << 16);
  const std::int64_t tokens = std::ssize(ReadVocabulary(kSentencePieces).tokens);
  EXPECT_GT(pieces.other, tokens * 9 / 10) << "of " << tokens;
  EXPECT_NE(pieces.Problem(0), "");
  EXPECT_EQ(pieces.Problem(tokens), "");
}

// As many rows as another model's has are no sign that it is the vocabulary.
TEST_F(TokenRowsTest, OfAFolderWithoutATokenizerNothingIsCompared) {
  fs::create_directories(work_ / "folder");
  for (const fs::path& file : {fs::path(kSentencePieces), Other(VocabularyCase("gpt2"))}) {
    const TokenRows found = Rows(file, 1 << 16);
    EXPECT_EQ(found.strange(), 0);
    EXPECT_TRUE(Has(found.Words(),
                    "65536 rows, nothing was compared with the vocabulary (it has no "
                    "tokenizer.json); by their number "))
        << found.Words();
    EXPECT_TRUE(Has(found.UnknownProblem(), "allow_unknown_vocabulary=true")) << found.UnknownProblem();
  }
}

// As medley exports one, whose vocabulary no other software reads.
TEST_F(TokenRowsTest, ATokenizerModelIsAFoldersOwnWhereItHasNoTokenizerJson) {
  fs::create_directories(work_ / "folder");
  fs::copy_file(kSentencePieces, work_ / "folder/tokenizer.model");
  for (const fs::path& file : {fs::path(kSentencePieces), work_ / "folder/tokenizer.model"}) {
    const TokenRows found = Rows(file, 1 << 16);
    EXPECT_EQ(found.strange(), 0);
    EXPECT_EQ(found.UnknownProblem(), "");
    EXPECT_TRUE(Has(found.Words(), "65536 rows, none is new")) << found.Words();
  }
  const TokenRows other = Rows(Other(VocabularyCase()), 1 << 16);
  EXPECT_GT(other.strange(), 0);
  EXPECT_TRUE(Has(other.Problem(0), "tokenizer.model (the first is 0, ")) << other.Problem(0);
  Folder(VocabularyCase());
  EXPECT_EQ(Rows(Other(VocabularyCase()), 1 << 16).strange(), 0) << "that one goes before";
}

TEST_F(TokenRowsTest, OneTokenThatTheFolderHasNotInASpareRowIsSaid) {
  Folder(VocabularyCase());
  Json more = VocabularyCase();
  AddToken(more, kTokens, "<tool>");
  const TokenRows found = Rows(Other(more), kTokens + 50);
  EXPECT_EQ(found.other, 1);
  EXPECT_TRUE(Has(found.Problem(0), "1 id is of other tokens") &&
              Has(found.Problem(0), "the first is 276, \"<tool>\" here and none there"))
      << found.Problem(0);
  EXPECT_EQ(found.Problem(1), "");
  EXPECT_EQ(found.ids, (std::vector<std::int64_t>{kTokens + 1, kTokens + 2, kTokens + 3}));
}

// Medley's tokens would take the places of the folder's last ones.
TEST_F(TokenRowsTest, AShorterVocabularyIsAnotherOne) {
  Json longer = VocabularyCase();
  AddToken(longer, kTokens, "<tool>");
  Folder(longer);
  const TokenRows found = Rows(Other(VocabularyCase()), kTokens + 1);
  EXPECT_EQ(found.other, 1);
  EXPECT_EQ(found.ids, (std::vector<std::int64_t>{kTokens + 1, kTokens + 2}));
}

TEST_F(TokenRowsTest, OfATokenizerThatMedleyDoesNotReadNoTokenIsKnown) {
  Json unread = VocabularyCase();
  unread["model"]["byte_fallback"] = true;
  Folder(unread);
  const TokenRows found = Rows(kSentencePieces, 1 << 16);
  EXPECT_EQ(found.strange(), 0);
  EXPECT_TRUE(Has(found.UnknownProblem(), "medley does not read its tokenizer") &&
              Has(found.UnknownProblem(), "byte_fallback"))
      << found.UnknownProblem();
}

// A run's own check, at the keys of its config.
class PretrainedRunCheck : public TokenRowsTest {
 protected:
  PretrainedRunCheck() {
    work_.Write("model.json", R"({"kind": "agent", "language": {"pretrained": "folder"}})");
    WriteConfig(300);
    Folder(VocabularyCase());
  }
  void WriteConfig(std::int64_t rows) const {
    work_.Write("folder/config.json", Json{{"model_type", "qwen3"},
                                           {"hidden_size", 64},
                                           {"num_hidden_layers", 2},
                                           {"num_attention_heads", 4},
                                           {"num_key_value_heads", 2},
                                           {"head_dim", 16},
                                           {"intermediate_size", 64},
                                           {"vocab_size", rows}}
                                          .dump());
  }
  std::string Mistakes(const std::vector<std::string>& overrides = {}, RunAge state = RunAge::kBegins,
                       const std::string& more = "") const {
    const fs::path run = work_.WriteRun(more);
    static const Registry registry = Registry::Scan({.paths = {MEDLEY_CONFIG_FIXTURES},
                                                     .environment = false,
                                                     .user_directory = false,
                                                     .own_directory = false});
    return MistakesOf([&] { words_ = CheckRun(run, overrides, registry, state).token_table; });
  }
  std::string OwnTokenizer() const { return "tokenizer=" + (work_ / "folder/tokenizer.json").string(); }

  mutable std::string words_;
};

TEST_F(PretrainedRunCheck, ATokenizerThatIsNotTheFoldersIsRefusedBeforeAnythingIsRead) {
  EXPECT_EQ(Mistakes({OwnTokenizer()}), "");
  EXPECT_TRUE(Has(words_, "3 rows are new")) << words_;
  const std::string one = Mistakes();
  EXPECT_TRUE(Has(one, "run.json:3:16: tokenizer: the weights do not know 1 token of this vocabulary"))
      << one;
  EXPECT_EQ(Mistakes({"allow_new_rows=1"}), "");
  WriteConfig(200);
  const std::string grown = Mistakes({OwnTokenizer(), "allow_new_rows=75"});
  EXPECT_TRUE(Has(grown, "has 200 rows, none for 76 tokens")) << grown;
  EXPECT_EQ(Mistakes({OwnTokenizer(), "allow_new_rows=76"}), "");
  EXPECT_EQ(Mistakes({}, RunAge::kBegun), "") << "it has weights of its own";
}

TEST_F(PretrainedRunCheck, AVocabularyThatNothingTellsOfNeedsAWord) {
  fs::rename(work_ / "folder/tokenizer.json", work_ / "elsewhere.json");
  const std::string elsewhere = "tokenizer=" + (work_ / "elsewhere.json").string();
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{}, {elsewhere}}) {
    const std::string text = Mistakes(overrides);
    EXPECT_TRUE(Has(text, "tokenizer: nobody can tell whether the weights of ") &&
                Has(text, "medley train --allow-unknown-vocabulary"))
        << text;
    std::vector<std::string> allowed = overrides;
    allowed.emplace_back("allow_unknown_vocabulary=true");
    EXPECT_EQ(Mistakes(allowed), "");
    EXPECT_TRUE(Has(words_, "nothing was compared")) << words_;
    EXPECT_EQ(Mistakes(overrides, RunAge::kBegun), "") << "as it began before";
  }
  WriteConfig(200);  // rows that are too few are another matter
  const std::string both = Mistakes({elsewhere, "allow_unknown_vocabulary=true"});
  EXPECT_TRUE(Has(both, "has 200 rows, none for 76 tokens")) << both;
  EXPECT_FALSE(Has(both, "nobody can tell")) << both;
}

TEST_F(PretrainedRunCheck, AddedTokensThatAreCountedOtherwiseElsewhereAreRefused) {
  Json vocabulary = VocabularyCase();
  std::swap(vocabulary["added_tokens"][0], vocabulary["added_tokens"][4]);
  Folder(vocabulary);
  const std::string text = Mistakes({OwnTokenizer()});
  EXPECT_TRUE(
      Has(text, "tokenizer.json: the added token \"<|vision_end|>\" has the id 275 in the file and 271") &&
      Has(text, "sort the list by id"))
      << text;
  EXPECT_EQ(Mistakes({OwnTokenizer()}, RunAge::kBegun), "");
}

TEST_F(PretrainedRunCheck, AnAdapterInTheFolderIsRefusedUnlessItIsAskedFor) {
  work_.Write("folder/adapter_config.json",
              R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]})");
  const std::string refused = Mistakes({OwnTokenizer()});
  EXPECT_TRUE(Has(refused, "run.json:2:12: model: ") && Has(refused, "has adapter_config.json")) << refused;
  EXPECT_EQ(Mistakes({OwnTokenizer()}, RunAge::kBegins, R"("lora": {"pretrained": "folder"})"), "");
  EXPECT_EQ(Mistakes({OwnTokenizer()}, RunAge::kBegun), "");
}

TEST_F(PretrainedRunCheck, AllowingRowsOfNoFolderIsAMistake) {
  work_.Write("model.json", Workspace::kModel);
  for (const std::string& key : {std::string("allow_new_rows"), std::string("allow_unknown_vocabulary")}) {
    const std::string text = Mistakes({key + (key == "allow_new_rows" ? "=3" : "=true")});
    EXPECT_TRUE(Has(text, key + ": the model's file ")) << text;
  }
}

}  // namespace
}  // namespace medley::testing
