#include <medley/task/text_rows.h>

#include "tests/tasks/word_tokenizer.h"

#include <gtest/gtest.h>

namespace medley {
namespace {

constexpr std::string_view kTexts[] = {"one two three.", "one", "two two"};

WordTokenizer Words() { return WordTokenizer({"one two three."}); }

TEST(TextTable, PadsAtTheEndAndKnowsLengths) {
  const WordTokenizer words = Words();
  const TextTable table(words, "t", kTexts, 6, TextEnd::kEos);
  EXPECT_EQ(table.rows(), 3);
  EXPECT_EQ(table.longest(), 5);
  EXPECT_EQ(table.Length(1), 2);
  const at::Tensor tokens = table.Tokens();
  EXPECT_EQ(tokens.sizes(), at::IntArrayRef({3, 6}));
  for (std::int64_t row = 0; row < 3; ++row) {
    const std::int64_t length = table.Length(row);
    EXPECT_EQ(tokens[row][length - 1].item<std::int64_t>(), words.eos());
    EXPECT_TRUE(tokens[row].narrow(0, length, 6 - length).eq(words.pad()).all().item<bool>());
  }
}

TEST(TextTable, NamesTheTextAndTheWidthThatDoNotFit) {
  const WordTokenizer words = Words();
  try {
    TextTable(words, "greetings", kTexts, 4, TextEnd::kEos);
    FAIL() << "accepted a text that is too long";
  } catch (const InputError& error) {
    const std::string message = error.what();
    for (const char* part : {"greetings", "one two three.", "5 tokens", "4 wide"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  const std::string_view empty[] = {""};
  EXPECT_THROW(TextTable(words, "t", empty, 4, TextEnd::kOpen), InputError);
}

TEST(JoinTokens, LeavesNoGap) {
  constexpr std::int64_t kPad = 9;
  RowRandom random(1);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<std::vector<std::int64_t>> prompts, replies, joined;
    std::vector<std::int64_t> lengths;
    for (int row = 0; row < 6; ++row) {
      prompts.emplace_back(static_cast<std::size_t>(1 + random.Below(5)), 1 + row);
      replies.emplace_back(static_cast<std::size_t>(1 + random.Below(4)), 100 + row);
      lengths.push_back(static_cast<std::int64_t>(prompts.back().size()));
      joined.push_back(prompts.back());
      joined.back().insert(joined.back().end(), replies.back().begin(), replies.back().end());
    }
    for (const std::int64_t width : {9, 12}) {
      const at::Tensor tokens =
          JoinTokens(PadRows(prompts, 5, kPad), IntColumn(lengths), PadRows(replies, 4, kPad), width, kPad);
      EXPECT_TRUE(tokens.equal(PadRows(joined, width, kPad)));
    }
  }
}

TEST(LearnedSpans, BecomeFlatPositionsOfEachSlice) {
  Batch batch(RowRange{1, 0, 3});
  AddLearned(batch, "learned", "text", {{0, 3}, {2, 2}, {4, 6}});
  EXPECT_EQ(batch.ItemCount("text"), 4);  // position 0 has nothing before it
  EXPECT_TRUE(FlatPositions(batch.Ragged("learned"), 10).equal(IntColumn({1, 2, 24, 25})));
  const Batch last = batch.Slice(2, 1);
  EXPECT_TRUE(FlatPositions(last.Ragged("learned"), 10).equal(IntColumn({4, 5})));
}

}  // namespace
}  // namespace medley
