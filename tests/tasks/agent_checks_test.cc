// What an agent that has learned nothing makes of every task. (Contract and gradients: tests/step.)

#include <medley/eval/row_items.h>
#include <medley/plugin/loaded_task.h>
#include <medley/testing/checks.h>

#include "tests/tasks/agent_testing.h"

namespace medley::tasks {
namespace {

struct Loaded {
  Loaded(const std::string& name, const std::string& variant)
      : made(name, variant), task(made.info, *made.info.FindVariant(variant), "test", std::move(made.task)) {}
  AgentTask made;
  LoadedTask task;
};

TEST(TasksWithTheAgent, AreAtChanceWhereNothingWasLearned) {
  ASSERT_GE(AllTasks().size(), 22U);
  const medley::Agent agent(test::ReadAgentConfig(AgentConfigFile()), Words(),
                            /*seed=*/5);  // in float: twice as fast
  for (const TaskClass& any : AllTasks()) {
    Loaded loaded(any.spec->name, "default");
    EXPECT_EQ(check::Score(loaded.task, agent, /*rows=*/16), check::Findings()) << any.spec->name;
  }
}

// What that says only a task's author can mend, or declare.
TEST(TasksWithTheAgent, WarnNobodyOfRowsThatAreSeenAgain) {
  for (const TaskClass& any : AllTasks()) {
    Loaded loaded(any.spec->name, "default");
    EXPECT_EQ(OverlapWarning(loaded.task, {.training = 7, .evaluation = 7}, /*held_out_rows=*/128), "");
  }
}

}  // namespace
}  // namespace medley::tasks
