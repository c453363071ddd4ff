#include <medley/task/plugin.h>

#include "tasks/drivers/scene_question_task.h"
#include "tasks/world/random_states.h"
#include "tasks/world/solver.h"

namespace medley::tasks {
namespace {

// Sides are those of the picture.
constexpr std::string_view kGoldSideTexts[] = {
    "Left or right to the coin?",
    "Is the coin to your left or right?",
    "On which side of you is the gold?",
    "Does the coin lie left or right of you?",
    "Where do you look for the gold, left or right?",
};
constexpr std::string_view kGoldLeft[] = {"Left.", "To the left.", "It is on the left."};
constexpr std::string_view kGoldRight[] = {"Right.", "To the right.", "It is on the right."};

constexpr std::string_view kGoldHeightTexts[] = {
    "Is the coin higher than you?",       "Up or down to the coin?",
    "Is the gold above or below you?",    "Does the coin lie higher or lower than you?",
    "Is the gold over you or under you?",
};
constexpr std::string_view kGoldUp[] = {"Up.", "It is higher.", "Above me."};
constexpr std::string_view kGoldDown[] = {"Down.", "It is lower.", "Below me."};

constexpr std::string_view kAgentSideTexts[] = {
    "Which side of the coin do you stand on?",
    "Do you stand left or right of the gold?",
    "Seen from the coin, are you left or right?",
    "On which side of the gold are you?",
};
constexpr std::string_view kAgentLeft[] = {"On its left.", "I am left of it.", "Left of the coin."};
constexpr std::string_view kAgentRight[] = {"On its right.", "I am right of it.", "Right of the coin."};

constexpr std::string_view kAgentHeightTexts[] = {
    "Are you under the coin?",
    "Do you stand above or below the gold?",
    "Seen from the coin, are you up or down?",
    "Are you higher or lower than the gold?",
};
constexpr std::string_view kAgentUp[] = {"Above it.", "I am higher.", "Over the coin."};
constexpr std::string_view kAgentDown[] = {"Below it.", "I am lower.", "Under the coin."};

constexpr std::array<TextList, 12> kTables{{
    {"gold_side_prompts", kGoldSideTexts},
    {"gold_left", kGoldLeft, /*reply=*/true},
    {"gold_right", kGoldRight, true},
    {"gold_height_prompts", kGoldHeightTexts},
    {"gold_up", kGoldUp, true},
    {"gold_down", kGoldDown, true},
    {"agent_side_prompts", kAgentSideTexts},
    {"agent_left", kAgentLeft, true},
    {"agent_right", kAgentRight, true},
    {"agent_height_prompts", kAgentHeightTexts},
    {"agent_up", kAgentUp, true},
    {"agent_down", kAgentDown, true},
}};
constexpr std::array<Question, 4> kQuestions{{
    {"gold_side", "gold_side_prompts", {"gold_left", "gold_right"}},
    {"gold_height", "gold_height_prompts", {"gold_up", "gold_down"}},
    {"agent_side", "agent_side_prompts", {"agent_left", "agent_right"}},
    {"agent_height", "agent_height_prompts", {"agent_up", "agent_down"}},
}};

// Where gold and agent are as seen from each other: four questions about one picture.
class PositionQa final : public SceneQuestionTask {
 public:
  static constexpr TaskSpec kSpec = SceneQuestionSpec(
      "position_qa", "say on which side of each other agent and gold are", kTables, kQuestions);
  explicit PositionQa(const TaskContext& context) : SceneQuestionTask(context, kSpec, kTables, kQuestions) {}

 private:
  // Each label has half of the bare states; drawing states freely balances them.
  QuestionExample DrawScene(std::int64_t, RowRandom& random) const override {
    const world::State state = world::BareState(random);
    const int right = world::GoldIsLeft(state) ? 0 : 1;
    const int down = world::GoldIsUp(state) ? 0 : 1;
    return {.scene = {state}, .labels = {right, down, 1 - right, 1 - down}};
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::PositionQa)
