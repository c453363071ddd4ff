// What a step of each task is made of, against the reference's tables of passes and constants.

#include <map>

#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

using Names = std::vector<std::string>;

struct Recipe {
  Names passes;               // in the order of the spec
  std::int64_t pictures = 0;  // that a step draws
  std::size_t constants = 0;
  bool carried = false;  // a later pass sees what an earlier one drew
};

const std::map<std::string, Recipe>& Recipes() {
  static const Recipe picture{{"control", "task"}, 2, 1};
  static const std::map<std::string, Recipe> kRecipes{
      {"control", {{"control"}, 1, 0}},
      {"arrow_to_gold", picture},
      {"position_qa", {{"control", "gold_side", "gold_height", "agent_side", "agent_height"}, 0, 12}},
      // All three steps draw; with the second and third alone, "two steps back" would have no picture.
      {"mem_canvas", {{"step1", "step2", "recall"}, 3, 0, /*carried=*/true}},
      {"blue_line_qa", {{"control", "facing_line"}, 0, 3}},
      {"gold_direction_qa", {{"control", "facing_gold"}, 0, 3}},
      {"near_gold_qa", {{"control", "near"}, 0, 3}},
      {"please_turn_qa", {{"control", "to_line", "to_gold", "from_line", "from_gold"}, 0, 6}},
      {"relposition_qa", {{"control", "will_hit", "which_turn", "next_move"}, 0, 9}},
      {"direction_names", {{"control", "sentence"}, 0, 1}},
      {"zoom_agent", picture},
      {"zoom_gold", picture},
      {"zoom_halfway", picture},
      {"imagine_without_you", picture},
      {"imagine_without_gold", picture},
      {"imagine_without_walls", picture},
      {"imagine_walls_only", picture},
      {"imagine_facing_gold", picture},
      {"imagine_closer_to_gold", picture},
      {"imagine_after_move", picture},
      {"comparison", {{"wait", "question"}, 2, 4, /*carried=*/true}},
      {"complex_loss", {{"task"}, 1, 1}}};
  return kRecipes;
}

TEST(Recipes, AreThoseOfTheTwentyTwoTasks) {
  Names tasks, expected;
  for (const TaskClass& task : AllTasks()) tasks.push_back(task.spec->name);
  std::sort(tasks.begin(), tasks.end());
  for (const auto& [name, recipe] : Recipes()) expected.push_back(name);
  EXPECT_EQ(tasks, expected);
  EXPECT_EQ(tasks.size(), 22U);
}

TEST(Recipes, SpecsDeclareTheReferencesPassesAndConstants) {
  std::size_t constants = 0;
  for (const TaskClass& task : AllTasks()) {
    SCOPED_TRACE(task.spec->name);
    const Recipe& recipe = Recipes().at(task.spec->name);
    Names passes;
    std::int64_t pictures = 0;
    for (const PassInfo& pass : task.passes()) {
      passes.push_back(pass.name);
      pictures += pass.decodes_image;
      EXPECT_GT(pass.text_width, 0);
      EXPECT_LE(pass.text_width, 64);
    }
    EXPECT_EQ(passes, recipe.passes);
    EXPECT_EQ(pictures, recipe.pictures);
    EXPECT_EQ(task.spec->constants.size(), recipe.constants);
    EXPECT_EQ(task.spec->variants[0].Carries(), recipe.carried);
    constants += task.spec->constants.size();
  }
  EXPECT_EQ(constants, 53U);
}

// No spec is asked what to expect: the forwards of a step and the tensors that it reads are counted.
TEST(Recipes, AStepMakesTheReferencesForwardsAndReadsItsTensors) {
  for (const auto& [name, recipe] : Recipes()) {
    SCOPED_TRACE(name);
    const TaskUnderTest test(name);
    const Batch batch = test.task->Sample({7, 100, 12});
    Carries carries;
    std::int64_t forwards = 0, pictures = 0, carried = 0;
    std::map<std::string, at::Tensor> tensors;
    for (const std::string& pass_name : recipe.passes) {
      FakePass pass(test, batch, &carries);
      test.task->Run(pass_name, pass);
      forwards += pass.forwards;
      pictures += static_cast<std::int64_t>(pass.wanted.count("image"));
      for (const ModelInput& input : pass.inputs) carried += input.key.rfind("carry:", 0) == 0;
      for (const std::string& constant : pass.constants) tensors[constant] = test.task->Constant(constant);
    }
    EXPECT_EQ(forwards, static_cast<std::int64_t>(recipe.passes.size()));
    EXPECT_EQ(pictures, recipe.pictures);
    EXPECT_EQ(carried > 0, recipe.carried);
    EXPECT_EQ(tensors.size(), recipe.constants);
    for (const auto& [constant, tensor] : tensors) {
      EXPECT_EQ(tensor.scalar_type(), at::kLong) << constant;
      EXPECT_GT(tensor.numel(), 0) << constant;
    }
  }
}

}  // namespace
}  // namespace medley::tasks
