#include <medley/task/plugin.h>

#include <medley/task/drivers/labels.h>

#include "tasks/drivers/scene_question_task.h"
#include "tasks/world/random_states.h"
#include "tasks/world/solver.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kToLineTexts[] = {
    "Turn to the line.",
    "Turn towards the blue line.",
    "Look at the line.",
};
constexpr std::string_view kToGoldTexts[] = {
    "Turn to the coin.",
    "Turn towards the gold.",
    "Look at the coin.",
};
constexpr std::string_view kFromLineTexts[] = {
    "Rotate off the line.",
    "Turn away from the blue line.",
    "Look away from the line.",
};
constexpr std::string_view kFromGoldTexts[] = {
    "Rotate off the coin.",
    "Turn away from the gold.",
    "Look away from the coin.",
};
constexpr std::string_view kClock[] = {"<clock>"};
constexpr std::string_view kAnticlock[] = {"<anticlock>"};

constexpr std::array<TextList, 6> kTables{{
    {"to_line_prompts", kToLineTexts},
    {"to_gold_prompts", kToGoldTexts},
    {"from_line_prompts", kFromLineTexts},
    {"from_gold_prompts", kFromGoldTexts},
    {"clock", kClock, /*reply=*/true},
    {"anticlock", kAnticlock, true},
}};
constexpr std::array<Question, 4> kQuestions{{
    {"to_line", "to_line_prompts", {"clock", "anticlock"}},
    {"to_gold", "to_gold_prompts", {"clock", "anticlock"}},
    {"from_line", "from_line_prompts", {"clock", "anticlock"}},
    {"from_gold", "from_gold_prompts", {"clock", "anticlock"}},
}};

// Which action turns towards, or away from, line and gold the shorter way: the reply is one action token.
class PleaseTurnQa final : public SceneQuestionTask {
 public:
  static constexpr TaskSpec kSpec = [] {
    TaskSpec spec =
        SceneQuestionSpec("please_turn_qa", "turn towards or away from line and gold", kTables, kQuestions);
    spec.special_tokens = {"<pad>", "<eos>", "<clock>", "<anticlock>"};
    return spec;
  }();
  explicit PleaseTurnQa(const TaskContext& context)
      : SceneQuestionTask(context, kSpec, kTables, kQuestions) {}

 private:
  // Both turns have the four pairs of answers equally often.
  QuestionExample DrawScene(std::int64_t row, RowRandom& random) const override {
    const int turns = BalancedLabel(row, 4, kSpec.passes.size());
    const int to_line = turns % 2;
    const int to_gold = turns / 2;
    world::State state;
    do {
      state = world::BareState(random);
    } while (Turn(state, world::Bearing(state)) != to_gold);
    world::Line line{.angle = 0, .extension = random.Uniform(1, 4)};
    do {
      line.angle = random.Uniform(0, 2 * world::kPi);
    } while (Turn(state, line.angle) != to_line);
    return {.scene = {state, {.line = line}}, .labels = {to_line, to_gold, 1 - to_line, 1 - to_gold}};
  }

  static int Turn(const world::State& state, double to) {
    return world::TurnIsAnticlockwise(state.direction, to) ? 1 : 0;
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::PleaseTurnQa)
