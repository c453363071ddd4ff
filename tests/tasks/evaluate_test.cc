#include <numeric>
#include <optional>

#include <medley/task/text_rows.h>

#include "tests/tasks/questions.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Mean squared error over the pixels where target and input differ, one row, the slow way.
double RegionError(const at::Tensor& answer, const at::Tensor& target, const at::Tensor& input) {
  const at::Tensor region = target.ne(input).any(0).expand_as(target);
  return (answer - target).square().masked_select(region).mean().item<double>();
}

TEST(Evaluate, APerfectPictureHasNoErrorAndTheInputHasItsTrivialOne) {
  for (const char* name : {"arrow_to_gold", "zoom_gold"}) {
    const TaskUnderTest test(name);
    FakeEval eval(test);
    eval.draw = [](FakePass& pass) { return pass.Pixels("target"); };
    const Outcomes perfect = test.task->Evaluate(eval, {3, 0, 12});
    ASSERT_EQ(perfect.score.size(), 12U);
    EXPECT_EQ(Mean(perfect.score), 0);
    EXPECT_EQ(perfect.output.sizes(), at::IntArrayRef({8, 3, 128, 128}));
    EXPECT_TRUE(perfect.output.equal(perfect.target));
    EXPECT_TRUE(perfect.input.equal(test.task->Sample({3, 0, 8}).Column("image")));

    eval.draw = [](FakePass& pass) { return pass.Pixels("image"); };
    const Outcomes same = test.task->Evaluate(eval, {3, 0, 12});
    EXPECT_EQ(same.score, same.trivial.at("input"));
    EXPECT_GT(Mean(same.score), 0.01);
  }
}

TEST(Evaluate, TrivialAnswersEqualTheSlowOnes) {
  const TaskUnderTest test("zoom_halfway");
  FakeEval eval(test, 4);
  eval.draw = [](FakePass& pass) { return pass.Pixels("image").mul(3); };  // clamped before it is judged
  const Outcomes outcomes = test.task->Evaluate(eval, {4, 20, 10});
  const Batch batch = test.task->Sample({4, 20, 10});
  const at::Tensor input = batch.Column("image").to(at::kFloat).div(255);
  const at::Tensor target = batch.Column("target").to(at::kFloat).div(255);
  const at::Tensor mean = target.mean(0);
  for (std::int64_t row = 0; row < 10; ++row) {
    const auto i = static_cast<std::size_t>(row);
    EXPECT_NEAR(outcomes.trivial.at("input")[i], RegionError(input[row], target[row], input[row]), 1e-5);
    EXPECT_NEAR(outcomes.trivial.at("mean target")[i], RegionError(mean, target[row], input[row]), 1e-5);
    EXPECT_NEAR(outcomes.score[i], RegionError(input[row].mul(3).clamp(0, 1), target[row], input[row]), 1e-5);
  }
}

TEST(Evaluate, ControlIsJudgedOnTheWholePictureAgainstTheMeanImage) {
  const TaskUnderTest test("control");
  FakeEval eval(test);
  eval.draw = [](FakePass& pass) { return at::ones_like(pass.Pixels("image")); };
  const Outcomes outcomes = test.task->Evaluate(eval, {6, 0, 10});
  const at::Tensor image = test.task->Sample({6, 0, 10}).Column("image").to(at::kFloat).div(255);
  const at::Tensor white = (image - 1).square().mean({1, 2, 3});
  const at::Tensor mean = (image - image.mean(0)).square().mean({1, 2, 3});
  ASSERT_EQ(outcomes.trivial.size(), 1U);
  for (std::int64_t row = 0; row < 10; ++row) {
    const auto i = static_cast<std::size_t>(row);
    EXPECT_NEAR(outcomes.score[i], white[row].item<double>(), 1e-5);
    EXPECT_NEAR(outcomes.trivial.at("mean image")[i], mean[row].item<double>(), 1e-5);
  }
}

// Answers every row from the tables of a label: the right one where `right` says so.
std::vector<std::vector<std::int64_t>> Answer(const TaskUnderTest& test, FakePass& pass,
                                              const std::function<bool(const std::string& pass)>& right) {
  const auto asked =
      std::find_if(AskedQuestions().begin(), AskedQuestions().end(), [&](const auto& question) {
        return question.task == test.entry.spec->name && pass.constants.count(question.prompts) > 0;
      });
  pass.constants.clear();
  std::vector<std::vector<std::int64_t>> answers;
  const at::Tensor labels = pass.batch().Column(asked->pass + ".label");
  for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
    auto label = static_cast<std::size_t>(labels[row].item<std::int64_t>());
    if (!right(asked->pass)) label = (label + 1) % asked->replies.size();
    const auto texts = test.Texts(asked->replies[label]);
    answers.push_back(test.tokenizer->Encode(texts[static_cast<std::size_t>(row) % texts.size()]));
  }
  return answers;
}

double Accuracy(const char* name, const std::function<bool(const std::string&)>& right) {
  const TaskUnderTest test(name);
  FakeEval eval(test);
  eval.answer = [&](FakePass& pass) { return Answer(test, pass, right); };
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

// Replies with the first text of label `label` of every question.
double AccuracyOfOneAnswer(const std::string& name, std::size_t label) {
  const TaskUnderTest test(name);
  FakeEval eval(test);
  eval.answer = [&](FakePass& pass) {
    const auto asked =
        std::find_if(AskedQuestions().begin(), AskedQuestions().end(), [&](const auto& question) {
          return question.task == name && pass.constants.count(question.prompts) > 0;
        });
    pass.constants.clear();
    const auto reply = test.tokenizer->Encode(test.Texts(asked->replies[label])[0]);
    return std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(pass.batch().size()), reply);
  };
  return Mean(test.task->Evaluate(eval, {8, 0, 24}).score);
}

TEST(Evaluate, NoSingleAnswerBeatsTheDeclaredChance) {
  for (const std::string& name : QuestionTasks()) {
    if (name == "position_qa") continue;  // balanced by draw only
    const double first = AccuracyOfOneAnswer(name, 0), second = AccuracyOfOneAnswer(name, 1);
    EXPECT_NEAR(std::max(first, second), *TaskNamed(name).spec->score.chance, 1e-12) << name;
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
  EXPECT_EQ(Mean(test.task->Evaluate(eval, {8, 0, 30}).score), 1);
  said = "<clock>";
  EXPECT_NEAR(Mean(test.task->Evaluate(eval, {8, 0, 30}).score), *test.entry.spec->score.chance, 1e-12);
}

// Draws, in the recall, the picture that lies `back` steps back; by row where that is left open.
double Recall(std::optional<std::int64_t> back) {
  const TaskUnderTest test("mem_canvas");
  FakeEval eval(test);
  eval.draw = [&](FakePass& pass) {
    if (pass.images.count("image3") == 0) return at::full_like(pass.LastImage(), 0.25);
    EXPECT_EQ(pass.inputs[0].tensor.max().item<float>(), 0.25F) << "a canvas is what was drawn";
    EXPECT_EQ(pass.inputs[1].tensor.max().item<float>(), 0.25F);
    std::vector<at::Tensor> rows;
    for (std::int64_t row = 0; row < pass.batch().size(); ++row) {
      const std::int64_t at = back ? *back : pass.batch().Column("recall.back")[row].item<std::int64_t>();
      rows.push_back(pass.Pixels("image" + std::to_string(3 - at))[row]);
    }
    return at::stack(rows).mul(0.9).add(0.02);
  };
  const Outcomes outcomes = test.task->Evaluate(eval, {8, 0, 12});
  EXPECT_NEAR(Mean(outcomes.trivial.at("input")), 1.0 / 3, 1e-12);
  EXPECT_TRUE(outcomes.output.to(at::kInt).sub(outcomes.target.to(at::kInt)).abs().max().item<int>() <= 26 ||
              back);
  return Mean(outcomes.score);
}

TEST(Evaluate, MemCanvasCountsTheRightPictures) {
  EXPECT_EQ(Recall({}), 1);
  for (const std::int64_t back : {0, 1, 2}) EXPECT_NEAR(Recall(back), 1.0 / 3, 1e-12);
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
        const bool first = pass.batch().Column("label")[row].item<std::int64_t>() == wrong;
        answers.push_back(test.tokenizer->Encode(test.Texts(first ? "first" : "second")[0]));
      }
      return answers;
    };
    EXPECT_EQ(Mean(test.task->Evaluate(eval, {8, 0, 12}).score), 1 - wrong);
  }
}

}  // namespace
}  // namespace medley::tasks
