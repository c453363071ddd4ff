#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

constexpr RowRange kRows{7, 100, 9};

TEST(Tasks, ConstantsAreWhatTheSpecDeclares) {
  for (const TaskClass& any : AllTasks()) {
    const TaskUnderTest test(any.spec->name);
    for (const ConstantInfo& constant : any.spec->constants) {
      const at::Tensor table = test.task->Constant(constant.name);
      EXPECT_EQ(table.sizes(), at::IntArrayRef({constant.rows, constant.width})) << constant.name;
      EXPECT_EQ(table.scalar_type(), at::kLong);
      const bool prompts = constant.name.find("prompts") != std::string::npos;
      EXPECT_GE(table.size(0), prompts ? 3 : 1) << constant.name;
    }
  }
}

void ExpectPassesAsDeclared(const TaskInfo& spec, const VariantInfo& variant) {
  const TaskUnderTest test(spec.name, 128, variant.name);
  const Batch batch = test.task->Sample(kRows);
  std::set<std::string> terms, constants;
  Carries carries;
  for (const PassInfo& declared : variant.passes) {
    FakePass pass(test, batch, &carries);
    const Sums sums = test.task->Run(declared.name, pass);
    EXPECT_EQ(pass.forwards, 1);
    std::vector<std::string> images;
    for (const ModelInput& input : pass.inputs) {
      if (input.name == "images") images.push_back(input.key.substr(input.key.find(':') + 1));
    }
    EXPECT_EQ(images, declared.images) << "in this order";
    EXPECT_EQ(pass.made, std::set<std::string>(declared.carries.begin(), declared.carries.end()));
    EXPECT_EQ(pass.wanted.count("image") == 1, declared.decodes_image);
    EXPECT_LE(pass.Input("tokens").size(1), declared.text_width);
    EXPECT_EQ(pass.Input("lengths").sizes(), at::IntArrayRef({kRows.count}));
    EXPECT_TRUE(pass.Input("lengths").le(pass.Input("tokens").size(1)).all().item<bool>());
    constants.insert(pass.constants.begin(), pass.constants.end());
    for (const auto& [term, sum] : sums) {
      terms.insert(term);
      EXPECT_EQ(sum.dim(), 0) << term;
      // In noise there is no agent to be found.
      EXPECT_GE(sum.item<double>(), spec.name == "complex_loss" ? 0 : 1e-9) << term;
    }
  }
  // A row makes one pass of `fused`; a row of three is not asked whether it hits.
  const auto least = [&](const TermInfo& term) {
    return variant.name == "fused" || term.name == "will_hit" ? 0 : 1;
  };
  std::set<std::string> declared_terms, declared_constants;
  for (const TermInfo& term : variant.terms) {
    declared_terms.emplace(term.name);
    const at::Tensor items = batch.items().at(term.name);
    EXPECT_LE(items.max().item<std::int64_t>(), term.max_items) << term.name;
    EXPECT_GE(items.min().item<std::int64_t>(), least(term)) << term.name;
  }
  for (const ConstantInfo& constant : spec.constants) declared_constants.emplace(constant.name);
  EXPECT_EQ(terms, declared_terms);
  EXPECT_EQ(batch.items().size(), declared_terms.size());
  EXPECT_EQ(constants, declared_constants);
}

TEST(Tasks, PassesDoWhatTheSpecDeclares) {
  for (const TaskClass& any : AllTasks()) {
    for (const VariantInfo& variant : any.spec->variants) {
      SCOPED_TRACE(any.spec->name + "/" + variant.name);
      ExpectPassesAsDeclared(*any.spec, variant);
    }
  }
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
      const TaskUnderTest test(any.spec->name, 128, variant.name);
      const Batch slice = test.task->Sample({3, 40, 12}).Slice(5, 4);
      const Batch alone = test.task->Sample({3, 45, 4});
      ASSERT_EQ(slice.columns().size(), alone.columns().size());
      for (const auto& [name, column] : alone.columns())
        EXPECT_TRUE(slice.Column(name).equal(column)) << name;
      for (const auto& [name, column] : alone.ragged()) {
        EXPECT_TRUE(slice.Ragged(name).values.equal(column.values)) << name;
        EXPECT_TRUE(slice.Ragged(name).item_row.equal(column.item_row)) << name;
      }
      for (const auto& [term, items] : alone.items())
        EXPECT_TRUE(slice.items().at(term).equal(items)) << term;
      const std::string image = variant.passes[0].images.back();
      EXPECT_FALSE(test.task->Sample({4, 45, 4}).Column(image).equal(alone.Column(image))) << "seeds differ";
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
