#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <medley/base/error.h>
#include <medley/text/load_tokenizer.h>
#include <medley/text/special_tokens.h>
#include <medley/text/tokenizer_trainer.h>

#include "tests/words.h"

namespace medley {
namespace {

using test::MessageOf;

const std::vector<std::string> kTexts = {"Where is the gold? The gold is on the left.",
                                         "Is the gold above or below you? It is above.",
                                         "Please draw an arrow from the agent to the gold.",
                                         "A farmer has 12 sheep and buys 30 more. How many are there now?",
                                         "Turn <clock> and go <forward>.",
                                         "Zoom in on the gold, the agent, the wall."};

constexpr std::int64_t kSize = 330;

std::filesystem::path Save(const std::string& bytes) {
  static int count = 0;
  const auto path = std::filesystem::temp_directory_path() /
                    ("medley-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".model");
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::unique_ptr<Tokenizer> Load(const std::string& bytes) {
  struct Removed {
    std::filesystem::path path;
    ~Removed() { std::filesystem::remove(path); }
  };
  const Removed file{Save(bytes)};
  return LoadTokenizer(file.path);
}

const Tokenizer& Trained() {
  static const std::unique_ptr<Tokenizer> tokenizer = Load(TrainTokenizer(kTexts, kSize));
  return *tokenizer;
}

TEST(Tokenizer, DecodingGivesTheTextBack) {
  const Tokenizer& tokenizer = Trained();
  std::vector<std::string> texts = kTexts;
  for (const char* text : {"", " ", "   two  spaces   inside and  around ", "\nImage 2:", "tab\tand\r\nbreak",
                           "Grüße, 你好, emoji 🙂, e\xcc\x81", "a \xe2\x96\x81 mark of its own",
                           "<pad> <eos>", "0123456789", "<unknown> <", "ﬁ ﬂ Å (not normalised)"}) {
    texts.push_back(text);
  }
  for (const std::string& text : texts) EXPECT_EQ(tokenizer.Decode(tokenizer.Encode(text)), text);
}

TEST(Tokenizer, SpecialTokensAreOneIdWhereverTheyStand) {
  const Tokenizer& tokenizer = Trained();
  EXPECT_EQ(tokenizer.size(), kSize);
  for (const std::string_view name : kSpecialTokens) {
    ASSERT_TRUE(tokenizer.Has(name));
    EXPECT_EQ(tokenizer.Encode(name), std::vector<std::int64_t>{tokenizer.Id(name)});
    EXPECT_EQ(tokenizer.Piece(tokenizer.Id(name)), name);
    const std::string text = "go" + std::string(name) + std::string(name) + " now";
    const std::vector<std::int64_t> ids = tokenizer.Encode(text);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer.Id(name)), 2) << text;
    EXPECT_EQ(tokenizer.Decode(ids), text);
  }
  EXPECT_NE(tokenizer.pad(), tokenizer.eos());
  EXPECT_FALSE(tokenizer.Has("<jump>"));
}

// Names of special tokens in a text are letters; all other texts have the tokens that they had.
TEST(Tokenizer, ATextHasNoSpecialTokensWhateverItSays) {
  const Tokenizer& tokenizer = Trained();
  std::set<std::int64_t> special;
  for (const std::string_view name : kSpecialTokens) special.insert(tokenizer.Id(name));
  std::vector<std::string> texts = {"cat<eos>dog",
                                    "<<eos>>",
                                    "<pad><pad>",
                                    "<<<image></image>",
                                    "</image",
                                    "<e<eos>os>",
                                    "\xe2\x96\x81<eos>\xe2\x96\x81",
                                    "<eos>"};
  for (const std::string_view name : kSpecialTokens) texts.push_back("go " + std::string(name) + " now");
  for (const std::string& text : texts) {
    const std::vector<std::int64_t> ids = tokenizer.EncodeText(text);
    EXPECT_EQ(tokenizer.Decode(ids), text);
    for (const std::int64_t id : ids) EXPECT_FALSE(special.contains(id)) << text;
  }
  for (const char* text : {"", " two  spaces ", "a < b > c <eo s>",
                           "Gr\xc3\xbc\xc3\x9f"
                           "e \xff\xfe"})
    EXPECT_EQ(tokenizer.EncodeText(text), tokenizer.Encode(text)) << text;
  EXPECT_EQ(tokenizer.SpecialNames().size(), kSpecialTokens.size());
}

TEST(Tokenizer, FrequentWordsAreFewTokens) {
  const Tokenizer& tokenizer = Trained();
  EXPECT_LE(tokenizer.Encode("the gold").size(), 4);
  EXPECT_GE(tokenizer.Encode("qqqq").size(), 4);
}

TEST(Tokenizer, TheSameTextsGiveTheSameBytes) {
  const std::string once = TrainTokenizer(kTexts, kSize);
  EXPECT_EQ(once, TrainTokenizer(kTexts, kSize));
  EXPECT_EQ(Load(once)->hash(), Trained().hash());
  EXPECT_EQ(Trained().hash().size(), 32);
  EXPECT_NE(Load(TrainTokenizer(kTexts, kSize - 1))->hash(), Trained().hash());
}

// The message of the InputError, "" where there is none.
TEST(Tokenizer, ImpossibleVocabulariesAreRefusedWithTheLimit) {
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' lacks '" << part << "'";
  };
  has(MessageOf<InputError>([] { TrainTokenizer(kTexts, 100); }),
      "too small: the special tokens and the 256 bytes take 264");
  has(MessageOf<InputError>([] { TrainTokenizer(kTexts, 270); }), "vocabulary of 270 tokens");
  has(MessageOf<InputError>([] { TrainTokenizer(kTexts, 100000); }), "vocabulary of 100000 tokens");
  has(MessageOf<InputError>([] { TrainTokenizer({}, 400); }), "no line");
  has(MessageOf<InputError>([] { TrainTokenizer({"", "\n\n"}, 400); }), "no line");
}

TEST(Tokenizer, FilesThatAreNoVocabularyAreInputErrors) {
  for (const std::string& bytes : {std::string(), std::string("hello"), std::string(5000, '\0'),
                                   TrainTokenizer(kTexts, kSize).substr(0, 700)}) {
    EXPECT_NE(MessageOf<InputError>([&] { Load(bytes); }), "") << bytes.size();
  }
  EXPECT_NE(MessageOf<InputError>([] { LoadTokenizer("/nowhere/small.model"); }).find("/nowhere/small.model"),
            std::string::npos);
  EXPECT_NE(MessageOf<InputError>([] { Trained().Id("<jump>"); }).find("has no token <jump>; it has <"),
            std::string::npos);
  EXPECT_THROW(Trained().Decode({kSize}), Error);
  EXPECT_THROW(Trained().Piece(-1), Error);
}

}  // namespace
}  // namespace medley
