#include <algorithm>
#include <map>

#include <medley/task/drivers/labels.h>
#include <medley/task/text_rows.h>

#include "tests/tasks/questions.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

// The question that the pass has just put; it forgets it, for the next one.
const AskedQuestion& TakeAsked(const TaskUnderTest& test, FakePass& pass) {
  const auto asked =
      std::find_if(AskedQuestions().begin(), AskedQuestions().end(), [&](const auto& question) {
        return question.task == test.entry.spec->name && pass.constants.count(question.prompts) > 0;
      });
  pass.constants.clear();
  return *asked;
}

// Answers every row from the tables of a label: the right one where `right` says so.
std::vector<std::vector<std::int64_t>> AnswerAs(const TaskUnderTest& test, FakePass& pass,
                                                const std::function<bool(const std::string& pass)>& right) {
  const AskedQuestion& asked = TakeAsked(test, pass);
  std::vector<std::vector<std::int64_t>> answers;
  const at::Tensor labels = pass.batch().Column(asked.pass + ".label");
  for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
    auto label = static_cast<std::size_t>(labels[row].item<std::int64_t>());
    if (!right(asked.pass)) label = (label + 1) % asked.replies.size();
    const auto texts = test.Texts(asked.replies[label]);
    answers.push_back(test.tokenizer->Encode(texts[static_cast<std::size_t>(row) % texts.size()]));
  }
  return answers;
}

double Accuracy(const char* name, const std::function<bool(const std::string&)>& right) {
  const TaskUnderTest test(name);
  FakeEval eval(test);
  eval.answer = [&](FakePass& pass) { return AnswerAs(test, pass, right); };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
  EXPECT_EQ(outcomes.score.size(), 12U);
  return Mean(outcomes.score);
}

TEST(Evaluate, AccuracyIsTheShareOfTheQuestions) {
  for (const std::string& name : QuestionTasks()) {
    EXPECT_EQ(Accuracy(name.c_str(), [](const std::string&) { return true; }), 1) << name;
    EXPECT_EQ(Accuracy(name.c_str(), [](const std::string&) { return false; }), 0) << name;
  }
  EXPECT_EQ(Accuracy("position_qa", [](const std::string& pass) { return pass != "agent_side"; }), 0.75);
  EXPECT_EQ(Accuracy("please_turn_qa", [](const std::string& pass) { return pass == "to_gold"; }), 0.25);
}

TEST(Evaluate, AQuestionThatARowIsNotAskedIsNotJudged) {
  const auto all_but = [](const std::string& wrong) {
    return Accuracy("relposition_qa", [&](const std::string& pass) { return pass != wrong; });
  };
  EXPECT_NEAR(all_but("will_hit"), (4 * 2.0 / 3 + 2) / 6, 1e-12);  // asked in four rows of six
  EXPECT_NEAR(all_but("next_move"), (4 * 2.0 / 3 + 2 * 0.5) / 6, 1e-12);
}

// Which questions a model knows is seen beside the score; of a single one the score says it.
TEST(Evaluate, EachOfSeveralQuestionsHasAFigure) {
  const auto figures_of = [](const char* name) {
    const TaskUnderTest test(name);
    FakeEval eval(test);
    eval.answer = [&](FakePass& pass) {
      return AnswerAs(test, pass, [](const std::string& asked) { return asked == "will_hit"; });
    };
    return test.task->Evaluate(eval, {8, 0, 12}).figures;
  };
  const auto figures = figures_of("relposition_qa");
  ASSERT_EQ(figures.size(), 3U);
  const auto times = [&](const char* question, double value) {
    const std::vector<double>& rows = figures.at(question).rows;
    return std::count(rows.begin(), rows.end(), value);
  };
  EXPECT_EQ(times("will_hit", 1), 8) << "asked in four rows of six";
  EXPECT_EQ(times("will_hit", 0), 0);
  EXPECT_EQ(times("which_turn", 0), 12);
  EXPECT_EQ(times("next_move", 0), 12);
  EXPECT_TRUE(figures_of("blue_line_qa").empty());
}

TEST(Evaluate, TheMostFrequentReplyIsAnAnswerThatNeedsNoLearning) {
  for (const std::string& name : QuestionTasks()) {
    const TaskUnderTest test(name);
    FakeEval eval(test);
    eval.answer = [](FakePass& pass) {
      return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()));
    };
    const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 24});
    EXPECT_EQ(Mean(outcomes.score), 0);
    const auto& trivial = outcomes.trivial.at("most frequent reply");
    ASSERT_EQ(trivial.size(), 24U);
    if (name == "position_qa") {  // balanced by draw only: the trivial answer may beat one half
      EXPECT_GE(Mean(trivial), 0.5);
      EXPECT_LT(Mean(trivial), 0.75);
    } else {
      EXPECT_NEAR(Mean(trivial), *test.entry.spec->score.chance, 1e-12) << name;
    }
  }
}

TEST(MostFrequentIsRight, CountsLabelsAndLeavesOutWhatIsNone) {
  EXPECT_EQ(MostFrequentIsRight({2, 0, 2, -1, -1, -1, 1, 2}), (std::vector<double>{1, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(MostFrequentIsRight({}), std::vector<double>{});
}

// Replies to each question of the task with the first text of one label, whatever it sees.
double AccuracyOfReplies(const TaskUnderTest& test, const std::map<std::string, std::size_t>& label_of) {
  FakeEval eval(test);
  eval.answer = [&](FakePass& pass) {
    const AskedQuestion& asked = TakeAsked(test, pass);
    const auto reply = test.tokenizer->Encode(test.Texts(asked.replies[label_of.at(asked.pass)])[0]);
    return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()), reply);
  };
  return Mean(test.task->Evaluate(eval, {8, 0, 24}).score);
}

// Every choice of one label a question.
std::vector<std::map<std::string, std::size_t>> ChoicesOfLabels(const std::string& task) {
  std::vector<std::map<std::string, std::size_t>> choices{{}};
  for (const AskedQuestion& question : AskedQuestions()) {
    if (question.task != task) continue;
    std::vector<std::map<std::string, std::size_t>> longer;
    for (const auto& choice : choices) {
      for (std::size_t label = 0; label < question.replies.size(); ++label) {
        longer.push_back(choice);
        longer.back()[question.pass] = label;
      }
    }
    choices = std::move(longer);
  }
  return choices;
}

TEST(Evaluate, NoRepliesThatAreTheSameForEveryRowBeatTheDeclaredChance) {
  for (const std::string& name : QuestionTasks()) {
    if (name == "position_qa") continue;  // balanced by draw only
    const TaskUnderTest test(name);
    double best = 0;
    for (const auto& choice : ChoicesOfLabels(name)) best = std::max(best, AccuracyOfReplies(test, choice));
    EXPECT_NEAR(best, *TaskNamed(name).spec->score.chance, 1e-12) << name;
  }
}

TEST(Evaluate, AnAnswerThatIsInNoTableIsWrong) {
  const TaskUnderTest test("position_qa");
  FakeEval eval(test);
  eval.answer = [&](FakePass& pass) {
    return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()),
                                                  test.tokenizer->Encode("To the left. Left"));
  };
  EXPECT_EQ(Mean(test.task->Evaluate(eval, {8, 0, 6}).score), 0);
}

TEST(Evaluate, DirectionNamesAsksForTheTokenAfterTheWords) {
  const TaskUnderTest test("direction_names");
  const auto sentences = test.Texts("sentences");
  FakeEval eval(test);
  std::string said;
  eval.answer = [&](FakePass& pass) {
    std::vector<std::vector<std::int64_t>> answers;
    for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
      const std::int64_t words = pass.Input("lengths")[row].item<std::int64_t>();
      const std::string prompt = test.TextOf(pass.Input("tokens")[row], 0, words) + " ";
      EXPECT_EQ(prompt.find('<'), std::string::npos) << "the answer is not given away";
      for (const std::string& sentence : sentences) {
        if (sentence.rfind(prompt + "<", 0) != 0) continue;
        answers.push_back({test.tokenizer->Id(said.empty() ? sentence.substr(prompt.size()) : said)});
      }
    }
    return answers;
  };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 30});
  EXPECT_EQ(Mean(outcomes.score), 1);
  EXPECT_NEAR(Mean(outcomes.trivial.at("most frequent token")), 1.0 / 3, 1e-12);
  said = "<clock>";
  EXPECT_NEAR(Mean(test.task->Evaluate(eval, {8, 0, 30}).score), *test.entry.spec->score.chance, 1e-12);
}

TEST(Evaluate, ComparisonJudgesTheReply) {
  const TaskUnderTest test("comparison");
  for (const std::int64_t wrong : {0, 1}) {
    FakeEval eval(test);
    eval.draw = [](FakePass& pass) { return pass.LastImage().mul(0.5); };
    eval.answer = [&](FakePass& pass) {
      EXPECT_EQ(pass.inputs[0].key, "carry:c1");
      EXPECT_TRUE(pass.inputs[0].tensor.equal(pass.Pixels("image1").mul(0.5)));
      std::vector<std::vector<std::int64_t>> answers;
      for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
        const bool first = pass.batch().Column("question.label")[row].item<std::int64_t>() == wrong;
        answers.push_back(test.tokenizer->Encode(test.Texts(first ? "first" : "second")[0]));
      }
      return answers;
    };
    EXPECT_EQ(Mean(test.task->Evaluate(eval, {8, 0, 12}).score), 1 - wrong);
  }
}

// The longer the second board takes the likelier the first is better, which needs no memory: three quarters
// of pairs whose moves are independent and all different.
TEST(Evaluate, ComparisonHasABarForWhoSeesTheSecondBoardAlone) {
  const TaskUnderTest test("comparison");
  FakeEval eval(test, 100);
  eval.draw = [](FakePass& pass) { return pass.LastImage(); };
  eval.answer = [](FakePass& pass) {
    return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()));
  };
  const auto trivial = test.task->Evaluate(eval, {8, 0, 400}).trivial.at("second board alone");
  const Batch batch = test.task->Sample({8, 0, 400});
  const at::Tensor moves = batch.Column("image2.moves"), label = batch.Column("question.label");
  double best = 0;
  for (std::int64_t limit = 0; limit < 130; ++limit)
    best = std::max(best, moves.lt(limit).eq(label.eq(1)).to(at::kDouble).mean().item<double>());
  EXPECT_NEAR(Mean(trivial), best, 1e-12);
  EXPECT_NEAR(Mean(trivial), 0.75, 0.07);
}

}  // namespace
}  // namespace medley::tasks
