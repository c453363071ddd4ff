#include <algorithm>

#include "tests/tasks/questions.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

std::vector<std::string> PictureTasks() {
  std::vector<std::string> names;
  for (const TaskClass& task : AllTasks()) {
    const bool plain = task.passes().size() == 2 && task.passes()[1].name == "task";
    if (plain) names.push_back(task.spec->name);
  }
  return names;
}

TEST(Texts, NoPromptOccursUnderTwoQuestions) {
  std::map<std::string, std::string> seen;
  std::set<std::string> tables;
  const auto see = [&](const std::string& text, const std::string& where) {
    const auto [at, is_new] = seen.emplace(text, where);
    EXPECT_TRUE(is_new) << text << ": " << at->second << " and " << where;
  };
  for (const TaskClass& any : AllTasks()) {
    const TaskUnderTest test(any.spec->name);
    for (const ConstantInfo& constant : any.spec->constants) {
      if (constant.name.find("prompts") == std::string::npos && constant.name != "sentences") continue;
      tables.insert(any.spec->name + "." + constant.name);
      for (const std::string& text : test.Texts(constant.name))
        see(text, any.spec->name + "." + constant.name);
    }
    if (any.spec->name == "mem_canvas") {  // without constants: prompts only
      for (const std::string& text : any.texts) see(text, "mem_canvas");
    }
  }
  EXPECT_EQ(tables.size(), AskedQuestions().size() + PictureTasks().size() + 1 + 2 + 1)
      << "questions, pictures; sentences, comparison, complex_loss";
  EXPECT_GE(seen.size(), 150U);
}

// mem_canvas has three questions in one list of texts.
TEST(Texts, APromptOfMemCanvasAlwaysAsksForTheSamePicture) {
  const TaskUnderTest test("mem_canvas");
  const Batch batch = test.task->Sample({1, 0, 300});
  std::map<std::string, std::set<std::int64_t>> asked;
  for (std::int64_t row = 0; row < 300; ++row) {
    const std::int64_t length = batch.Column("recall.lengths")[row].item<std::int64_t>();
    asked[test.TextOf(batch.Column("recall.tokens")[row], 0, length)].insert(
        batch.Column("recall.back")[row].item<std::int64_t>());
  }
  EXPECT_EQ(asked.size(), test.entry.texts.size()) << "each prompt is used";
  std::map<std::int64_t, int> prompts;
  for (const auto& [text, backs] : asked) {
    EXPECT_EQ(backs.size(), 1U) << text;
    ++prompts[*backs.begin()];
  }
  EXPECT_EQ(prompts.size(), 3U);
  for (const auto& [back, count] : prompts) EXPECT_GE(count, 3) << back << " steps back";
}

TEST(Texts, NoReplyOccursUnderTwoLabels) {
  for (const AskedQuestion& question : AskedQuestions()) {
    const TaskUnderTest test(question.task);
    std::set<std::string> seen;
    std::size_t count = 0;
    for (const std::string& replies : question.replies) {
      for (const std::string& text : test.Texts(replies)) seen.insert(text), ++count;
    }
    EXPECT_EQ(seen.size(), count) << question.task << " " << question.pass;
  }
}

TEST(Texts, RelpositionSharesOneTableAndDeclaresTheOtherTwice) {
  const TaskUnderTest test("relposition_qa");
  EXPECT_EQ(test.Texts("anticlock"), test.Texts("move_anticlock"));
  FakePass turn(test, test.task->Sample({1, 0, 6})), move(test, test.task->Sample({1, 0, 6}));
  test.task->Run("which_turn", turn);
  test.task->Run("next_move", move);
  EXPECT_EQ(turn.constants, (std::set<std::string>{"turn_prompts", "clock", "anticlock"}));
  EXPECT_EQ(move.constants, (std::set<std::string>{"move_prompts", "forward", "clock", "move_anticlock"}));
}

TEST(Texts, EveryTextOfATableIsHandedToTheTokenizer) {
  for (const TaskClass& any : AllTasks()) {
    const TaskUnderTest test(any.spec->name);
    for (const ConstantInfo& constant : any.spec->constants) {
      for (const std::string& text : test.Texts(constant.name)) {
        EXPECT_EQ(std::count(any.texts.begin(), any.texts.end(), text), 1) << text;
      }
    }
  }
}

TEST(Texts, ThePicturePromptIsWholeAndPaddedOnlyAtTheEnd) {
  std::vector<std::string> tasks = PictureTasks();
  EXPECT_GE(tasks.size(), 11U);
  tasks.push_back("complex_loss");
  for (const std::string& name : tasks) {
    const TaskUnderTest test(name);
    const auto prompts = test.Texts(test.entry.spec->constants[0].name);
    FakePass pass(test, test.task->Sample({1, 0, 150}));
    test.task->Run("task", pass);
    std::set<std::string> seen;
    for (std::int64_t row = 0; row < 150; ++row) {
      const at::Tensor tokens = pass.Input("tokens")[row];
      const std::int64_t length = pass.Input("lengths")[row].item<std::int64_t>();
      const std::string text = test.TextOf(tokens, 0, length);
      EXPECT_EQ(std::count(prompts.begin(), prompts.end(), text), 1) << text;
      EXPECT_TRUE(
          tokens.narrow(0, length, tokens.size(0) - length).eq(test.tokenizer->pad()).all().item<bool>());
      seen.insert(text);
    }
    EXPECT_EQ(seen.size(), prompts.size()) << "each prompt is used";
  }
}

// Rows of `pass` are prompt, reply and eos without a gap, then pads; reply and eos are learned, nothing else.
void ExpectWholeReplies(const TaskUnderTest& test, FakePass& pass, const std::vector<std::string>& prompts,
                        const std::function<std::vector<std::string>(std::int64_t)>& replies_of) {
  const at::Tensor tokens = pass.Input("tokens");
  const std::int64_t rows = tokens.size(0), width = tokens.size(1);
  const at::Tensor learned =
      at::zeros({rows * width}, at::kLong).index_fill_(0, pass.Input("supervised"), 1).view({rows, width});
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t length = pass.Input("lengths")[row].item<std::int64_t>();
    const std::int64_t count = learned[row].sum().item<std::int64_t>();
    EXPECT_EQ(tokens[row][length - 1].item<std::int64_t>(), test.tokenizer->eos());
    EXPECT_TRUE(tokens[row].narrow(0, length, width - length).eq(test.tokenizer->pad()).all().item<bool>());
    EXPECT_TRUE(tokens[row].narrow(0, 0, length).ne(test.tokenizer->pad()).all().item<bool>());
    if (count == 0) continue;  // this row is not asked
    const std::int64_t prompt_length = length - count;
    const std::string prompt = test.TextOf(tokens[row], 0, prompt_length);
    const std::string reply = test.TextOf(tokens[row], prompt_length, length - 1);
    const auto replies = replies_of(row);
    EXPECT_EQ(std::count(prompts.begin(), prompts.end(), prompt), 1) << prompt;
    EXPECT_EQ(std::count(replies.begin(), replies.end(), reply), 1) << reply;
    EXPECT_TRUE(learned[row].narrow(0, prompt_length, count).eq(1).all().item<bool>());
  }
}

TEST(Texts, QuestionRowsDecodeToPromptReplyAndEos) {
  for (const AskedQuestion& question : AskedQuestions()) {
    SCOPED_TRACE(question.task + " " + question.pass);
    const TaskUnderTest test(question.task);
    FakePass pass(test, test.task->Sample({2, 0, 40}));
    test.task->Run(question.pass, pass);
    const at::Tensor labels = pass.batch().Column(question.pass + ".label");
    ExpectWholeReplies(test, pass, test.Texts(question.prompts), [&](std::int64_t row) {
      return test.Texts(question.replies[static_cast<std::size_t>(labels[row].item<std::int64_t>())]);
    });
  }
}

TEST(Texts, ComparisonRowsDecodeToPromptReplyAndEos) {
  const TaskUnderTest test("comparison");
  Carries carries;
  const Batch batch = test.task->Sample({2, 0, 40});
  FakePass wait(test, batch, &carries), question(test, batch, &carries);
  test.task->Run("wait", wait);
  test.task->Run("question", question);
  ExpectWholeReplies(test, question, test.Texts("question_prompts"), [&](std::int64_t row) {
    return test.Texts(batch.Column("question.label")[row].item<std::int64_t>() == 0 ? "first" : "second");
  });
  const auto prompts = test.Texts("wait_prompts");
  for (std::int64_t row = 0; row < 40; ++row) {
    const std::string text =
        test.TextOf(wait.Input("tokens")[row], 0, wait.Input("lengths")[row].item<std::int64_t>());
    EXPECT_EQ(std::count(prompts.begin(), prompts.end(), text), 1) << text;
  }
}

TEST(Texts, SentencesAreLearnedWholeAndEndWithTheirAction) {
  const TaskUnderTest test("direction_names");
  const auto sentences = test.Texts("sentences");
  const char* actions[] = {"<forward>", "<clock>", "<anticlock>"};
  FakePass pass(test, test.task->Sample({2, 0, 240}));
  test.task->Run("sentence", pass);
  const at::Tensor tokens = pass.Input("tokens");
  std::set<std::string> seen;
  std::int64_t learned = 0;
  for (std::int64_t row = 0; row < 240; ++row) {
    const std::int64_t length = pass.Input("lengths")[row].item<std::int64_t>();
    const std::string text = test.TextOf(tokens[row], 0, length - 1);
    const std::string action = actions[pass.batch().Column("sentence.label")[row].item<std::int64_t>()];
    EXPECT_EQ(std::count(sentences.begin(), sentences.end(), text), 1) << text;
    EXPECT_EQ(text.substr(text.size() - action.size()), action);
    EXPECT_EQ(tokens[row][length - 1].item<std::int64_t>(), test.tokenizer->eos());
    seen.insert(text);
    learned += length - 1;
  }
  EXPECT_EQ(seen.size(), sentences.size());
  EXPECT_EQ(pass.Input("supervised").numel(), learned);
  for (const std::string& text : sentences) EXPECT_EQ(std::count(text.begin(), text.end(), '<'), 1) << text;
}

TEST(Texts, ControlTextIsLearnedWholeWithItsEosUnlessCut) {
  const TaskUnderTest test("control");
  const Batch batch = test.task->Sample({5, 0, 64});
  FakePass pass(test, batch);
  test.task->Run("control", pass);
  const at::Tensor tokens = pass.Input("tokens");
  const std::int64_t width = tokens.size(1);
  std::set<std::string> seen;
  std::int64_t learned = 0;
  for (std::int64_t row = 0; row < 64; ++row) {
    const std::int64_t length = pass.Input("lengths")[row].item<std::int64_t>();
    const bool ends = tokens[row][length - 1].item<std::int64_t>() == test.tokenizer->eos();
    const std::string text = test.TextOf(tokens[row], 0, ends ? length - 1 : length);
    const auto line = std::find_if(test.lines.begin(), test.lines.end(), [&](const std::string& l) {
      return ends ? l == text : l.rfind(text, 0) == 0;
    });
    EXPECT_NE(line, test.lines.end()) << text;
    EXPECT_EQ(ends, length < width) << "only a cut line lacks its eos";
    seen.insert(text);
    learned += length - 1;
  }
  EXPECT_EQ(seen.size(), test.lines.size());
  EXPECT_EQ(batch.ItemCount("control_text"), learned);
  EXPECT_EQ(pass.Input("supervised").numel(), learned);
}

}  // namespace
}  // namespace medley::tasks
