// What the evaluations leave for people to look at.

#include <algorithm>

#include "tests/tasks/questions.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

constexpr std::size_t kShown = 8;

std::vector<std::vector<std::int64_t>> SayNothing(FakePass& pass) {
  return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()));
}

TEST(Sheets, EveryTaskFillsOne) {
  std::set<std::string> in_words;
  for (const TaskClass& any : AllTasks()) {
    SCOPED_TRACE(any.spec->name);
    const TaskUnderTest test(any.spec->name);
    FakeEval eval(test, 3);
    eval.draw = [](FakePass& pass) { return pass.LastImage().mul(0.5); };
    eval.answer = SayNothing;
    const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
    EXPECT_EQ(outcomes.input.size(0), static_cast<std::int64_t>(kShown));
    EXPECT_EQ(outcomes.input.scalar_type(), at::kByte);
    const auto& passes = any.passes();
    const bool draws =
        std::any_of(passes.begin(), passes.end(), [](const auto& p) { return p.decodes_image; });
    EXPECT_EQ(outcomes.output.defined(), draws);
    EXPECT_EQ(outcomes.target.defined(), draws);
    if (!outcomes.answers.empty()) in_words.insert(any.spec->name);
  }
  std::set<std::string> expected{"comparison", "direction_names"};
  for (const std::string& name : QuestionTasks()) expected.insert(name);
  EXPECT_EQ(in_words, expected);
}

bool IsIn(const std::string& text, const std::vector<std::string>& texts) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// The model says "Yes." whatever it is asked.
TEST(Sheets, ShowQuestionReplyAndRightReplyOfEveryQuestionThatIsAsked) {
  for (const std::string& name : QuestionTasks()) {
    SCOPED_TRACE(name);
    const TaskUnderTest test(name);
    FakeEval eval(test, 3);
    eval.answer = [&](FakePass& pass) {
      return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()),
                                                    test.tokenizer->Encode("Yes."));
    };
    const Outcomes outcomes = test.task->Evaluate(eval, {8, 5, 12});
    const Batch batch = test.task->Sample({8, 5, 12});
    ASSERT_EQ(outcomes.answers.size(), kShown);
    for (std::size_t row = 0; row < kShown; ++row) {
      const auto i = static_cast<std::int64_t>(row);
      std::size_t at = 0;
      double right = 0;
      for (const AskedQuestion& question : AskedQuestions()) {
        if (question.task != name) continue;
        if (batch.Column(question.pass + ".asked")[i].item<std::int64_t>() == 0) continue;
        const auto label =
            static_cast<std::size_t>(batch.Column(question.pass + ".label")[i].item<std::int64_t>());
        ASSERT_LT(at, outcomes.answers[row].size());
        const Answer& answer = outcomes.answers[row][at++];
        EXPECT_TRUE(IsIn(answer.question, test.Texts(question.prompts))) << answer.question;
        EXPECT_EQ(answer.reply, "Yes.");
        EXPECT_TRUE(IsIn(answer.right, test.Texts(question.replies[label]))) << answer.right;
        EXPECT_EQ(answer.is_right, question.replies[label] == "yes");
        right += answer.is_right;
      }
      EXPECT_EQ(outcomes.answers[row].size(), at);
      EXPECT_NEAR(outcomes.score[row], right / static_cast<double>(at), 1e-12);
    }
  }
}

TEST(Sheets, OfTheComparisonShowTheReplyBesideTheCanvas) {
  const TaskUnderTest test("comparison");
  FakeEval eval(test);
  eval.draw = [](FakePass& pass) { return pass.LastImage(); };
  eval.answer = [&](FakePass& pass) {
    return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()),
                                                  test.tokenizer->Encode("The one here."));
  };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
  const at::Tensor labels = test.task->Sample({8, 0, 12}).Column("question.label");
  ASSERT_EQ(outcomes.answers.size(), kShown);
  for (std::size_t row = 0; row < kShown; ++row) {
    const bool first = labels[static_cast<std::int64_t>(row)].item<std::int64_t>() == 0;
    ASSERT_EQ(outcomes.answers[row].size(), 1U);
    const Answer& answer = outcomes.answers[row][0];
    EXPECT_TRUE(IsIn(answer.question, test.Texts("question_prompts")));
    EXPECT_EQ(answer.reply, "The one here.");
    EXPECT_TRUE(IsIn(answer.right, test.Texts(first ? "first" : "second")));
    EXPECT_EQ(answer.is_right, !first);
  }
}

TEST(Sheets, OfTheDirectionsShowTheWordsAndTheToken) {
  const TaskUnderTest test("direction_names");
  FakeEval eval(test);
  eval.answer = [&](FakePass& pass) {
    return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()),
                                                  {test.tokenizer->Id("<clock>")});
  };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
  const auto sentences = test.Texts("sentences");
  ASSERT_EQ(outcomes.answers.size(), kShown);
  for (const auto& row : outcomes.answers) {
    ASSERT_EQ(row.size(), 1U);
    EXPECT_TRUE(IsIn(row[0].question + " " + row[0].right, sentences)) << row[0].question;
    EXPECT_EQ(row[0].reply, "<clock>");
    EXPECT_EQ(row[0].is_right, row[0].right == "<clock>");
  }
}

// Gives texts back in small letters.
class SmallLetters final : public Tokenizer {
 public:
  explicit SmallLetters(const Tokenizer& words) : words_(words) {}
  std::vector<std::int64_t> Encode(std::string_view text) const override { return words_.Encode(text); }
  std::string Decode(const std::vector<std::int64_t>& ids) const override {
    std::string text = words_.Decode(ids);
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
  std::string Piece(std::int64_t id) const override { return words_.Piece(id); }
  std::int64_t Id(std::string_view special) const override { return words_.Id(special); }
  bool Has(std::string_view special) const override { return words_.Has(special); }
  std::int64_t size() const override { return words_.size(); }
  std::string hash() const override { return "small"; }

 private:
  const Tokenizer& words_;
};

TEST(Judge, TakesARightReplyWhateverTheVocabularyGivesBack) {
  for (const char* name : {"comparison", "blue_line_qa"}) {
    TaskUnderTest test(name);
    const SmallLetters small(*test.tokenizer);
    test.task = test.entry.make(GameContext(small, test.lines, {}));
    const std::string pass_name = std::string(name) == "comparison" ? "question" : "facing_line";
    const std::vector<std::string> replies = std::string(name) == "comparison"
                                                 ? std::vector<std::string>{"first", "second"}
                                                 : std::vector<std::string>{"yes", "no"};
    FakeEval eval(test);
    eval.draw = [](FakePass& pass) { return pass.LastImage(); };
    eval.answer = [&](FakePass& pass) {
      std::vector<std::vector<std::int64_t>> answers;
      for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
        const auto label = pass.batch().Column(pass_name + ".label")[row].item<std::int64_t>();
        const at::Tensor right = test.task->Constant(replies[static_cast<std::size_t>(label)])[0];
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; right[i].item<std::int64_t>() != small.eos(); ++i)
          ids.push_back(right[i].item<std::int64_t>());
        answers.push_back(ids);
      }
      return answers;
    };
    const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
    EXPECT_EQ(std::count(outcomes.score.begin(), outcomes.score.end(), 1), 12) << name;
  }
}

}  // namespace
}  // namespace medley::tasks
