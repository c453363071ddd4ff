#include <map>

#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

constexpr RowRange kRows{7, 100, 9};

TEST(TaskSpecs, HaveTheReferencesPassesAndConstants) {
  const std::map<std::string_view, std::pair<std::size_t, std::size_t>> expected{
      {"control", {1, 0}},
      {"arrow_to_gold", {2, 1}},
      {"position_qa", {5, 12}},
      {"mem_canvas", {3, 0}},
      {"blue_line_qa", {2, 3}},
      {"gold_direction_qa", {2, 3}},
      {"near_gold_qa", {2, 3}},
      {"please_turn_qa", {5, 6}},
      {"relposition_qa", {4, 9}},
      {"direction_names", {2, 1}},
      {"zoom_agent", {2, 1}},
      {"zoom_gold", {2, 1}},
      {"zoom_halfway", {2, 1}},
      {"imagine_without_you", {2, 1}},
      {"imagine_without_gold", {2, 1}},
      {"imagine_without_walls", {2, 1}},
      {"imagine_walls_only", {2, 1}},
      {"imagine_facing_gold", {2, 1}},
      {"imagine_closer_to_gold", {2, 1}},
      {"imagine_after_move", {2, 1}},
      {"comparison", {2, 4}},
      {"complex_loss", {1, 1}}};
  EXPECT_EQ(AllTasks().size(), 22U);
  EXPECT_EQ(expected.size(), 22U);
  std::size_t constants = 0;
  for (const TaskClass& task : AllTasks()) {
    ASSERT_EQ(expected.count(task.spec->name), 1U) << task.spec->name;
    EXPECT_EQ(task.passes().size(), expected.at(task.spec->name).first) << task.spec->name;
    EXPECT_EQ(task.spec->constants.size(), expected.at(task.spec->name).second) << task.spec->name;
    for (const PassInfo& pass : task.passes()) EXPECT_LE(pass.text_width, 64);
    constants += task.spec->constants.size();
  }
  EXPECT_EQ(constants, 53U);
}

TEST(TaskSpecs, OnlyTheTwoTasksThatNeedAMemoryCarry) {
  std::set<std::string> carried;
  for (const TaskClass& task : AllTasks()) {
    if (task.spec->variants[0].Carries()) carried.insert(task.spec->name);
  }
  EXPECT_EQ(carried, (std::set<std::string>{"comparison", "mem_canvas"}));
}

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

TEST(Tasks, PassesDoWhatTheSpecDeclares) {
  for (const TaskClass& any : AllTasks()) {
    SCOPED_TRACE(any.spec->name);
    const TaskUnderTest test(any.spec->name);
    const Batch batch = test.task->Sample(kRows);
    std::set<std::string> terms, constants, special;
    Carries carries;
    for (const PassInfo& spec : any.passes()) {
      FakePass pass(test, batch, &carries);
      const Sums sums = test.task->Run(spec.name, pass);
      EXPECT_EQ(pass.forwards, 1);
      std::vector<std::string> images;
      for (const ModelInput& input : pass.inputs) {
        if (input.name == "images") images.push_back(input.key.substr(input.key.find(':') + 1));
      }
      EXPECT_EQ(images, spec.images) << "in this order";
      EXPECT_EQ(pass.made, std::set<std::string>(spec.carries.begin(), spec.carries.end()));
      EXPECT_EQ(pass.wanted.count("image") == 1, spec.decodes_image);
      EXPECT_LE(pass.Input("tokens").size(1), spec.text_width);
      EXPECT_EQ(pass.Input("lengths").sizes(), at::IntArrayRef({kRows.count}));
      EXPECT_TRUE(pass.Input("lengths").le(pass.Input("tokens").size(1)).all().item<bool>());
      constants.insert(pass.constants.begin(), pass.constants.end());
      for (const auto& [term, sum] : sums) {
        terms.insert(term);
        EXPECT_EQ(sum.dim(), 0) << term;
        // In noise there is no agent to be found.
        EXPECT_GE(sum.item<double>(), any.spec->name == "complex_loss" ? 0 : 1e-9) << term;
      }
    }
    std::set<std::string> declared_terms, declared_constants;
    for (const TermInfo& term : any.terms()) {
      declared_terms.emplace(term.name);
      const at::Tensor items = batch.items().at(term.name);
      EXPECT_LE(items.max().item<std::int64_t>(), term.max_items) << term.name;
      // A row of three is not asked whether it hits.
      EXPECT_GE(items.min().item<std::int64_t>(), term.name == "will_hit" ? 0 : 1) << term.name;
    }
    for (const ConstantInfo& constant : any.spec->constants) declared_constants.emplace(constant.name);
    EXPECT_EQ(terms, declared_terms);
    EXPECT_EQ(batch.items().size(), declared_terms.size());
    EXPECT_EQ(constants, declared_constants);
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
    const TaskUnderTest test(any.spec->name);
    const Batch slice = test.task->Sample({3, 40, 12}).Slice(5, 4);
    const Batch alone = test.task->Sample({3, 45, 4});
    ASSERT_EQ(slice.columns().size(), alone.columns().size());
    for (const auto& [name, column] : alone.columns()) {
      EXPECT_TRUE(slice.Column(name).equal(column)) << any.spec->name << " " << name;
    }
    for (const auto& [name, column] : alone.ragged()) {
      EXPECT_TRUE(slice.Ragged(name).values.equal(column.values)) << name;
      EXPECT_TRUE(slice.Ragged(name).item_row.equal(column.item_row)) << name;
    }
    for (const auto& [term, items] : alone.items()) EXPECT_TRUE(slice.items().at(term).equal(items)) << term;
    const std::string image = any.passes()[0].images.back();
    EXPECT_FALSE(test.task->Sample({4, 45, 4}).Column(image).equal(alone.Column(image))) << "seeds differ";
  }
}

TEST(Tasks, ImagesTooSmallForTheGoldAreRefused) {
  for (const TaskClass& any : AllTasks()) EXPECT_THROW(TaskUnderTest(any.spec->name, 112), InputError);
}

}  // namespace
}  // namespace medley::tasks
