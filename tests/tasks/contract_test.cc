#include "tests/tasks/contract_checks.h"

namespace medley::tasks {
namespace {

TEST(Tasks, ConstantsAreWhatTheSpecDeclares) {
  for (const TaskClass& any : AllTasks()) {
    ExpectConstantsAsDeclared(*any.spec);
    for (const ConstantInfo& constant : any.spec->constants) {
      const bool prompts = constant.name.find("prompts") != std::string::npos;
      EXPECT_GE(constant.rows, prompts ? 3 : 1) << constant.name;
    }
  }
}

TEST(Tasks, PassesDoWhatTheSpecDeclares) {
  for (const TaskClass& any : AllTasks()) {
    for (const VariantInfo& variant : any.spec->variants) {
      SCOPED_TRACE(any.spec->name + "/" + variant.name);
      ExpectPassesAsDeclared(*any.spec, variant);
    }
  }
}

// A model that lays what it draws over what it saw would copy it, and learn nothing by that.
TEST(Tasks, AskForTheDrawingWhereWhatIsSeenIsTheTarget) {
  std::set<std::string> drawings;
  for (const TaskClass& any : AllTasks()) {
    const TaskUnderTest test(any.spec->name);
    const Batch batch = test.task->Sample(kContractRows);
    Carries carries;
    for (const PassInfo& declared : any.spec->variants[0].passes) {
      FakePass pass(test, batch, &carries);
      pass.draw = [](FakePass& drawing) { return drawing.LastImage(); };
      const Sums sums = test.task->Run(declared.name, pass);
      if (!pass.draws()) continue;
      const bool copies = std::any_of(sums.begin(), sums.end(), [](const auto& sum) {
        return sum.first.find("image") != std::string::npos && sum.second.template item<double>() < 1e-9;
      });
      const std::string name = any.spec->name + "/" + declared.name;
      EXPECT_EQ(pass.wanted.count("drawing") > 0, copies) << name;
      EXPECT_EQ(pass.wanted.count("image") > 0, !copies) << name;
      if (copies) drawings.insert(name);
    }
  }
  for (const char* name : {"control/control", "zoom_gold/control", "mem_canvas/step1", "mem_canvas/step2",
                           "comparison/wait", "comparison/question"})
    EXPECT_EQ(drawings.count(name), 1U) << name;
}

TEST(Tasks, DeclareTheSpecialTokensOfTheirTexts) {
  for (const TaskClass& any : AllTasks()) {
    std::set<std::string> used{"<pad>", "<eos>"};
    for (const std::string& text : any.texts) {
      for (const char* token : {"<forward>", "<clock>", "<anticlock>"}) {
        if (text.find(token) != std::string::npos) used.insert(token);
      }
    }
    const auto& declared = any.spec->special_tokens;
    EXPECT_EQ(std::set<std::string>(declared.begin(), declared.end()), used) << any.spec->name;
  }
}

TEST(Tasks, DrawAtAnySizeThatShowsTheGame) {
  for (const TaskClass& any : AllTasks()) {
    for (const std::int64_t size : {128, 144, 256}) {
      const Batch batch = TaskUnderTest(any.spec->name, size).task->Sample({9, 0, 2});
      for (const auto& [name, column] : batch.columns()) {
        if (column.scalar_type() != at::kByte) continue;
        EXPECT_EQ(column.sizes(), at::IntArrayRef({2, 3, size, size})) << name;
      }
    }
  }
}

TEST(Tasks, ARowIsTheSameInWhateverRange) {
  for (const TaskClass& any : AllTasks()) {
    for (const VariantInfo& variant : any.spec->variants) {
      SCOPED_TRACE(any.spec->name + "/" + variant.name);
      ExpectARowIsTheSameInWhateverRange(*any.spec, variant);
    }
  }
}

// With the seeds that a run gives its tasks.
TEST(Tasks, ReadTheControlTextInOrdersOfTheirOwn) {
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) lines.push_back("line " + std::to_string(i) + " of many");
  const WordTokenizer tokenizer(lines);
  std::map<std::string, at::Tensor> orders;
  for (const TaskClass& any : AllTasks()) {
    if (!any.spec->special_tokens.empty() && any.spec->special_tokens.size() > 2) continue;
    OptionValues options;
    for (const OptionInfo& option : any.spec->options) options.emplace(option.name, option.Default());
    const auto task = any.make(GameContext(tokenizer, lines, options));
    const Batch batch = task->Sample({TaskSeed(1, any.spec->name), 0, 50});
    if (batch.columns().count("control.tokens") == 0) continue;
    for (const auto& [name, order] : orders) {
      EXPECT_FALSE(order.equal(batch.Column("control.tokens"))) << any.spec->name << " " << name;
    }
    orders[any.spec->name] = batch.Column("control.tokens");
  }
  EXPECT_GE(orders.size(), 15U);
}

}  // namespace
}  // namespace medley::tasks
