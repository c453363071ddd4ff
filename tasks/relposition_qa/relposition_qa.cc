#include <medley/task/plugin.h>

#include <medley/task/drivers/labels.h>

#include "tasks/drivers/scene_question_task.h"
#include "tasks/world/chosen_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kHitTexts[] = {
    "Would straight ahead be enough?",
    "Do you hit the coin if you walk on?",
    "Can you reach the gold without a turn?",
    "Is the way to the coin straight on?",
};
constexpr std::string_view kTurnTexts[] = {
    "Which turn brings you to the coin?",
    "Which turn is shorter, to face the gold?",
    "Clockwise or anticlockwise to the coin?",
    "Which way do you turn to the gold?",
};
constexpr std::string_view kMoveTexts[] = {
    "What is your next move?",
    "Which move comes next?",
    "What do you do first to get the coin?",
    "Turn or walk: what is next?",
};
constexpr std::string_view kClock[] = {"Clockwise.", "Turn clockwise.", "With the clock."};
constexpr std::string_view kAnticlock[] = {"Anticlockwise.", "Turn anticlockwise.", "Against the clock."};
constexpr std::string_view kForward[] = {"Forward.", "Walk forward.", "Straight on."};

// Nine constants: the third question's clockwise replies are the second's table under its own name, while its
// anticlockwise replies are a declaration of their own. The game that this follows has ten tensors, two of
// them copies; the count of nine is its published one.
constexpr std::array<TextList, 9> kTables{{
    {"hit_prompts", kHitTexts},
    {"yes", kYesTexts, /*reply=*/true},
    {"no", kNoTexts, true},
    {"turn_prompts", kTurnTexts},
    {"clock", kClock, true},
    {"anticlock", kAnticlock, true},
    {"move_prompts", kMoveTexts},
    {"forward", kForward, true},
    {"move_anticlock", kAnticlock, true},
}};
constexpr std::array<Question, 3> kQuestions{{
    {"will_hit", "hit_prompts", {"yes", "no"}},
    {"which_turn", "turn_prompts", {"clock", "anticlock"}},
    {"next_move", "move_prompts", {"forward", "clock", "move_anticlock"}},
}};

// How to get to the gold: three questions about one picture, whose answers hang together.
class RelpositionQa final : public SceneQuestionTask {
 public:
  static constexpr TaskSpec kSpec =
      SceneQuestionSpec("relposition_qa", "say how the agent gets to the gold", kTables, kQuestions);
  explicit RelpositionQa(const TaskContext& context)
      : SceneQuestionTask(context, kSpec, kTables, kQuestions) {}

 private:
  // The next move in thirds, the shorter turn in halves. Only a third of the pictures are hits, so that "will
  // hit" is asked in two rows of three: all the hits and as many others.
  QuestionExample DrawScene(std::int64_t row, RowRandom& random) const override {
    const int kind = BalancedLabel(row, 6, kSpec.passes.size());
    const int move = kind / 2;
    QuestionExample example;
    world::State& state = example.scene.state;
    bool anticlock = false;
    do {
      state = world::StateWithNextMove(kMoves[move], random);
      anticlock = world::TurnIsAnticlockwise(state.direction, world::Bearing(state));
    } while ((move == 0 && anticlock != (kind == 1)) || !world::Solve(state));
    example.labels = {move == 0 ? 0 : 1, anticlock ? 1 : 0, move};
    example.unasked[0] = kind == 3 || kind == 5;
    return example;
  }

  static constexpr world::Action kMoves[] = {world::Action::kForward, world::Action::kClock,
                                             world::Action::kAnticlock};
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::RelpositionQa)
