#include <gtest/gtest.h>

#include <medley/curriculum/forms.h>

#include "tests/curriculum/conditions.h"

namespace medley {
namespace {

using Names = std::vector<std::string>;

Stage StageOf(const std::string& name, Weights weights) {
  Stage stage;
  stage.name = name;
  stage.weights = std::move(weights);
  stage.until = conditions::Steps(5);
  return stage;
}

// The second stage gives "one" four rows; the third does so too, and draws it no more.
Curriculum ThreeStages() {
  Curriculum curriculum;
  curriculum.stages = {StageOf("a", {{"one", 1}, {"two", 1}}), StageOf("b", {{"one", 1}, {"three", 0}}),
                       StageOf("c", {{"two", 1}})};
  for (const std::size_t stage : {std::size_t{1}, std::size_t{2}})
    curriculum.stages[stage].set.tasks["one"].rows = 4;
  return curriculum;
}

TEST(Forms, AreTheConfigsOwnWhereNothingChanges) {
  RunConfig config;
  config.tasks["one"].rows = 4;
  EXPECT_EQ(NamedForms(config, ThreeStages()), (Names{"one", "two"}));
  EXPECT_EQ(TaskOfForm("one"), "one");
}

TEST(Forms, AreNamedByTheirSettings) {
  const RunConfig config;
  const Curriculum curriculum = ThreeStages();
  const Names named = NamedForms(config, curriculum);
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(named[0], "one");
  EXPECT_EQ(named[1], "two");
  EXPECT_EQ(TaskOfForm(named[2]), "one");
  EXPECT_NE(named[2], "one");
  EXPECT_EQ(FormsOf(config, curriculum.stages[1]), FormsOf(config, curriculum.stages[2]));
  EXPECT_TRUE(FormsOf(config, curriculum.stages[0]).empty());

  TaskChanges other;
  other.tasks["one"].options["moves"] = 4.0;
  EXPECT_NE(FormOf(config, other, "one"), named[2]);
  RunConfig richer = config;
  richer.tasks["one"].options["moves"] = 2.0;
  EXPECT_NE(FormOf(richer, curriculum.stages[1].set, "one"), named[2]) << "it has the config's options too";
}

TEST(Forms, GoOnInARampFromStagesBefore) {
  const RunConfig config;
  Curriculum curriculum = ThreeStages();
  curriculum.stages[2].set.tasks["one"].rows = 8;
  EXPECT_EQ(NamedForms(config, curriculum).size(), 3u);
  curriculum.stages[2].ramp.draws = 9;
  EXPECT_EQ(NamedForms(config, curriculum).size(), 4u) << "one with 8 rows is drawn while its share falls";
}

TEST(Forms, HaveTheirSettingsOnTopOfTheConfigs) {
  RunConfig config;
  config.tasks["one"].rows = 16;
  config.tasks["one"].micro_rows = 2;
  config.tasks["one"].mode = "joint";
  config.tasks["one"].variant = "fused";
  config.tasks["one"].options = {{"moves", 2.0}, {"walls", 1.0}};
  Curriculum curriculum = ThreeStages();
  curriculum.stages[1].set.tasks["one"].options["moves"] = 3.0;
  AddForms(config, curriculum);
  const TaskConfig& own = ConfigOf(config, FormOf(config, curriculum.stages[1].set, "one"));
  EXPECT_EQ(own.rows, 4);
  EXPECT_EQ(own.micro_rows, 2);
  EXPECT_EQ(own.mode, "joint");
  EXPECT_EQ(own.variant, "fused");
  EXPECT_EQ(own.options.at("moves"), OptionValue(3.0));
  EXPECT_EQ(own.options.at("walls"), OptionValue(1.0));
  EXPECT_EQ(ConfigOf(config, "one").rows, 16);
  EXPECT_FALSE(ToJson(config).contains("forms"));
}

}  // namespace
}  // namespace medley
