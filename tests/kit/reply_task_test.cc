#include <medley/task/drivers/reply_task.h>

#include <gtest/gtest.h>

#include <medley/data/item_stream.h>

#include "tests/tasks/task_testing.h"

namespace medley {
namespace {

using tasks::FakeEval;
using tasks::FakePass;
using tasks::TaskUnderTest;

// A reply that does not fit.
class Long final : public ReplyTask {
 public:
  static constexpr TaskSpec kSpec = ReplySpec("long", "", {.text_width = 8, .reply_width = 3});
  Long(const TaskContext& context, Exchange row) : ReplyTask(context, kSpec), row_(std::move(row)) {}

 private:
  Exchange Draw(Row&) const override { return row_; }
  Exchange row_;
};

std::string MistakeOf(const std::string& prompt, const std::string& reply) {
  const std::vector<std::string> texts{"a b c d e f g h i"};
  const WordTokenizer words(texts);
  const TaskContext context = tasks::GameContext(words, texts, {});
  const Long task(context, {prompt, reply});
  try {
    task.Sample({1, 20, 2});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ReplyTask, RowsThatDoNotFitAreNamedWithTheirWordsAndWidths) {
  EXPECT_EQ(MistakeOf("a b c d e", "f g"), "");
  EXPECT_EQ(MistakeOf("a b c d e f", "g h")
                .rfind("row 20, \"a b c d e f\" with the reply \"g h\": 9 tokens, 3 of them the reply's and "
                       "its eos; the "
                       "spec has 8 and 3. ",
                       0),
            0U)
      << MistakeOf("a b c d e f", "g h");
  EXPECT_NE(MistakeOf("a", "b c d").find("5 tokens, 4 of them"), std::string::npos);
  EXPECT_NE(MistakeOf("", "b").find("need a token each"), std::string::npos);
  EXPECT_NE(MistakeOf("", "\x1b\nb").find("with the reply \"\\x1b\\x0ab\": "), std::string::npos);
}

TEST(Task, AConstantThatTheSpecDeclaresAndNobodyMakesIsNamed) {
  const TaskUnderTest test("count_on");
  try {
    test.task->Constant("table");
    FAIL() << "there is none";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "the spec declares the constant 'table', which the task class does not make: override Constant");
  }
}

TEST(ReplyTask, ReplyAndEosAreLearnedAndThePromptIsNot) {
  const TaskUnderTest test("count_on");
  const Batch batch = test.task->Sample({1, 0, 6});
  for (std::int64_t row = 0; row < 6; ++row) {
    const RaggedColumn learned = batch.Slice(row, 1).Ragged("learned");
    const auto begin = batch.Column("prompt_lengths")[row].item<std::int64_t>(),
               end = batch.Column("lengths")[row].item<std::int64_t>();
    EXPECT_EQ(learned.values.numel(), end - begin);
    EXPECT_EQ(learned.values[0].item<std::int64_t>(), begin);
    EXPECT_EQ(batch.Column("tokens")[row][end - 1].item<std::int64_t>(), test.tokenizer->eos());
    EXPECT_EQ(test.TextOf(batch.Column("tokens")[row], begin, end - 1).find(','), std::string::npos);
  }
}

// The model is shown the prompt without the reply behind it, and is right where it says the reply.
TEST(ReplyTask, ScoresTheReplyWordForWordBesideTheMostFrequentOne) {
  const TaskUnderTest test("count_on");
  FakeEval context(test);
  context.answer = [&](FakePass& pass) {
    std::vector<std::vector<std::int64_t>> replies;
    const at::Tensor tokens = pass.Input("tokens"), lengths = pass.Input("lengths");
    for (std::int64_t row = 0; row < tokens.size(0); ++row) {
      const auto length = lengths[row].item<std::int64_t>();
      EXPECT_TRUE(tokens[row]
                      .narrow(0, length, tokens.size(1) - length)
                      .eq(test.tokenizer->pad())
                      .all()
                      .item<bool>());
      const bool ends_in_five = test.TextOf(tokens[row], 0, length).find("five,") != std::string::npos;
      replies.push_back(test.tokenizer->Encode(ends_in_five ? "six" : "one"));
    }
    return replies;
  };
  const Outcomes outcomes = test.task->Evaluate(context, {1, 0, 70});
  ASSERT_EQ(outcomes.score.size(), 70U);
  ASSERT_EQ(outcomes.answers.size(), kSheetRows);
  std::size_t right = 0;
  for (std::size_t row = 0; row < kSheetRows; ++row) {
    const Answer& answer = outcomes.answers[row][0];
    EXPECT_EQ(answer.is_right, answer.reply == answer.right) << answer.question;
    EXPECT_EQ(outcomes.score[row], answer.is_right ? 1 : 0);
  }
  for (const double score : outcomes.score) right += score > 0 ? 1 : 0;
  EXPECT_GT(right, 0U);
  EXPECT_LT(right, 70U);
  EXPECT_EQ(outcomes.trivial.count("most frequent reply"), 1U);
}

// Of its items three are trained on, and four held out.
class ListedReplies final : public ReplyTask {
 public:
  static constexpr TaskSpec kSpec = ReplySpec("listed", "");
  explicit ListedReplies(const TaskContext& context) : ReplyTask(context, kSpec) {}
  const ItemStream* Items() const override { return &items_; }

 private:
  Exchange Draw(Row& row) const override {
    static constexpr const char* kSaid[] = {"one", "two", "two", "one", "one", "one", "two"};
    return {"three", kSaid[items_.ItemOf(row.range, row.number)]};
  }
  ItemStream items_{SplitSizes{3, 4}};
};

TEST(ReplyTask, TheMostFrequentReplyIsTrainingsWhereRowsAreItems) {
  TaskUnderTest test("count_on");
  test.task = std::make_unique<ListedReplies>(tasks::GameContext(*test.tokenizer, test.lines, {}));
  FakeEval context(test);
  context.answer = [](FakePass& pass) {
    return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()));
  };
  const Outcomes outcomes = test.task->Evaluate(context, {.count = 4, .split = Split::kHeldOut});
  EXPECT_EQ(tasks::Mean(outcomes.trivial.at("most frequent reply")), 1.0 / 4);
  EXPECT_EQ(outcomes.chance, 0.5);
}

}  // namespace
}  // namespace medley
