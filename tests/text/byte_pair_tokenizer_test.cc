#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include <medley/base/random.h>
#include <medley/text/byte_pair_tokenizer.h>
#include <medley/text/load_tokenizer.h>

#include "tokenizer_cases.h"

namespace medley {
namespace {

using Ids = std::vector<std::int64_t>;

std::unique_ptr<Tokenizer> Make(const std::string& json, const SpecialTokenNames& names = {}) {
  return MakeBytePairTokenizer(json, "t.json", names);
}
std::unique_ptr<Tokenizer> MakeCase(const std::string& name, const SpecialTokenNames& names = {}) {
  return Make(CaseText(name), names);
}

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(CaseFile(""))) {
    const std::string name = entry.path().stem().string();
    if (!name.ends_with(".expect")) names.push_back(name);
  }
  return names;
}

TEST(BytePairTokenizer, IdsAreThoseOfTheTokenizersPackage) {
  const std::vector<std::string> names = CaseNames();
  EXPECT_EQ(names.size(), 22);
  for (const std::string& name : names) {
    const auto tokenizer = LoadTokenizer(CaseFile(name + ".json"));
    for (const auto& expected : nlohmann::json::parse(ReadFile(CaseFile(name + ".expect.json")))) {
      const auto text = expected.at(0).get<std::string>();
      EXPECT_EQ(tokenizer->Encode(text), expected.at(1).get<Ids>()) << name << ": " << text;
    }
  }
}

TEST(BytePairTokenizer, DecodingGivesAnyBytesBack) {
  const auto tokenizer = MakeCase("llama");
  RowRandom random(11);
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes;
    for (std::int64_t length = random.Below(40); length > 0; --length) {
      // Mostly bytes that make up characters: what is nearly UTF-8.
      const std::int64_t lead = random.Below(4);
      bytes.push_back(static_cast<char>(lead == 0 ? random.Below(128) : 128 + random.Below(128)));
      if (lead == 1) bytes += "\u0435\u0301 gold";
    }
    ASSERT_EQ(tokenizer->Decode(tokenizer->Encode(bytes)), bytes);
  }
}

TEST(BytePairTokenizer, AByteOfNoCharacterIsATextOfItsOwn) {
  const auto tokenizer = MakeCase("qwen");
  Ids expected = tokenizer->Encode("the e");
  const Ids stray = tokenizer->Encode("\xc3");
  EXPECT_EQ(stray.size(), 1);
  expected.insert(expected.end(), stray.begin(), stray.end());
  const Ids rest = tokenizer->Encode("\u0301 gold");
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(tokenizer->Encode("the e\xc3\u0301 gold"), expected);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
  }
}

TEST(BytePairTokenizer, NormalFormCIsWhatIsDecoded) {
  EXPECT_EQ(MakeCase("qwen")->Decode(MakeCase("qwen")->Encode("cafe\u0301")), "caf\u00e9");
  EXPECT_EQ(MakeCase("llama")->Decode(MakeCase("llama")->Encode("cafe\u0301")), "cafe\u0301");
}

TEST(BytePairTokenizer, SpecialTokensAreOneIdUnderMedleysNames) {
  for (const char* name : {"qwen", "llama", "digits"}) {
    const auto tokenizer = MakeCase(name);
    for (const std::string_view token : kSpecialTokens) {
      ASSERT_TRUE(tokenizer->Has(token));
      EXPECT_EQ(tokenizer->Encode(token), Ids{tokenizer->Id(token)});
      const std::string text = "go" + std::string(token) + std::string(token) + " now";
      const Ids ids = tokenizer->Encode(text);
      EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer->Id(token)), 2) << text;
      EXPECT_EQ(tokenizer->Decode(ids), text);
    }
    EXPECT_FALSE(tokenizer->Has("<jump>"));
    EXPECT_NE(
        InputErrorOf([&] { tokenizer->Id("<jump>"); }).find("has no special token <jump>; it has <pad>"),
        std::string::npos);
  }
}

// Neither medley's names nor the vocabulary's own become special tokens in a text; what the vocabulary calls
// no special token stays one token.
TEST(BytePairTokenizer, ATextHasNoSpecialTokensWhateverItSays) {
  for (const char* name : {"qwen", "llama", "digits"}) {
    const auto tokenizer = MakeCase(name);
    const std::vector<std::string> names = tokenizer->SpecialNames();
    EXPECT_GE(names.size(), kSpecialTokens.size());
    for (const std::string& special : names) {
      const Ids one = tokenizer->Encode(special);
      ASSERT_EQ(one.size(), 1U) << special;
      for (const std::string& text : {special, "go" + special + special + " now", "<" + special}) {
        const Ids ids = tokenizer->EncodeText(text);
        EXPECT_EQ(std::count(ids.begin(), ids.end(), one[0]), 0) << name << ": " << text;
        EXPECT_EQ(tokenizer->Decode(ids), text) << name;
      }
    }
    for (const char* text : {"", "two  words, 12 of 345.", "a < b > c \xff"})
      EXPECT_EQ(tokenizer->EncodeText(text), tokenizer->Encode(text)) << name << ": " << text;
  }
}

TEST(BytePairTokenizer, TheVocabularysOwnNamesAreTheSameTokens) {
  const auto tokenizer = MakeCase("qwen");
  EXPECT_EQ(tokenizer->Encode("<|im_end|>"), Ids{tokenizer->eos()});
  EXPECT_EQ(tokenizer->Decode({tokenizer->eos()}), "<eos>");
  EXPECT_EQ(tokenizer->Piece(tokenizer->eos()), "<|im_end|>");
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("<|im_start|>")), "<|im_start|>");
}

TEST(BytePairTokenizer, NamesThatItLacksAreAddedBehindItsOwn) {
  const auto tokenizer = MakeCase("qwen", {{"<image>", "<picture>"}});
  EXPECT_EQ(tokenizer->size(), 280);
  EXPECT_EQ(tokenizer->AddedIds(), (Ids{276, 277, 278, 279}));
  EXPECT_EQ(tokenizer->Id("<image>"), 279);
  EXPECT_EQ(tokenizer->Piece(279), "<picture>");
  EXPECT_EQ(tokenizer->Encode("<picture><image>"), (Ids{279, 279}));
  EXPECT_EQ(tokenizer->Decode({279}), "<image>");
  EXPECT_THROW(tokenizer->Decode({280}), Error);
  EXPECT_THROW(tokenizer->Piece(-1), Error);
}

TEST(BytePairTokenizer, TheHashIsOfTheFileAndOfOtherSpecialTokens) {
  const std::string hash = MakeCase("qwen")->hash();
  EXPECT_EQ(hash.size(), 32);
  EXPECT_EQ(MakeCase("qwen", {{"<eos>", "<|im_end|>"}})->hash(), hash);
  EXPECT_NE(MakeCase("qwen", {{"<eos>", "<|im_start|>"}})->hash(), hash);
  EXPECT_NE(MakeCase("qwen", {{"<clock>", "<|clock|>"}})->hash(), hash);
  EXPECT_NE(Make(CaseText("qwen") + "\n")->hash(), hash);
}

TEST(BytePairTokenizer, ServesSeveralThreads) {
  const auto tokenizer = MakeCase("qwen");
  const auto encode_all = [&] {
    std::vector<Ids> all;
    RowRandom random(2);
    for (int i = 0; i < 2'000; ++i) {
      std::string text;
      for (std::int64_t length = random.Below(30); length > 0; --length)
        text +=
            std::vector<std::string>{
                "the", " gold", "\u0301", "  ", "12", "<eos>", "\n", "e"}[static_cast<std::size_t>(
                random.Below(8))];
      all.push_back(tokenizer->Encode(text));
    }
    return all;
  };
  const std::vector<Ids> expected = encode_all();
  std::vector<std::vector<Ids>> found(4);
  std::vector<std::thread> threads;
  for (auto& here : found) threads.emplace_back([&here, &encode_all] { here = encode_all(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& here : found) EXPECT_EQ(here, expected);
}

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

TEST(BytePairTokenizer, AMegabyteTakesASecondWhateverItIs) {
  const auto tokenizer = MakeCase("qwen");
  constexpr std::size_t kSize = std::size_t{1} << 20;
  std::vector<std::string> lines;
  for (const char* part : {"a", "the", " ", "\n", "1", "'", "the gold is in the gold. ", "e\u0301\u0323",
                           "\u4f60", "<", "\xff"}) {
    std::string& line = lines.emplace_back();
    while (line.size() < kSize) line += part;
  }
  lines.push_back(std::string(kSize, ' ') + "a");
  for (const std::string& line : lines) {
    const double before = ProcessorSeconds();
    const Ids ids = tokenizer->Encode(line);
    EXPECT_LE(ProcessorSeconds() - before, 1) << line.substr(0, 20);
    EXPECT_FALSE(ids.empty());
  }
}

TEST(LoadTokenizer, TellsTheKindsApartByTheirContent) {
  EXPECT_EQ(LoadTokenizer(CaseFile("qwen.json"))->Piece(256), "th");
  const auto small = std::filesystem::path(MEDLEY_SOURCE_DIR) / "configs/tokenizers/small.model";
  EXPECT_EQ(LoadTokenizer(small)->Piece(0), "<pad>");
  EXPECT_TRUE(LoadTokenizer(small)->AddedIds().empty());
  EXPECT_NE(InputErrorOf([&] {
              LoadTokenizer(small, {{"<pad>", "<|pad|>"}});
            }).find("is a SentencePiece model"),
            std::string::npos);
}

}  // namespace
}  // namespace medley
