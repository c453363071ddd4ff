#include <medley/task/plugin.h>

#include <medley/task/drivers/labels.h>

#include "tasks/drivers/scene_question_task.h"
#include "tasks/world/random_states.h"
#include "tasks/world/solver.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kPrompts[] = {
    "Does the line point the way you look?",
    "Do you look along the blue line?",
    "Is the blue line in front of your eye?",
    "Are you facing the line?",
};
constexpr std::array<TextList, 3> kTables{
    {{"prompts", kPrompts}, {"yes", kYesTexts, /*reply=*/true}, {"no", kNoTexts, true}}};
constexpr std::array<Question, 1> kQuestions{{{"facing_line", "prompts", {"yes", "no"}}}};

constexpr double kFacing = world::kPi / 6;  // smaller differences count as facing

// Whether the agent looks along the line that starts at its rim.
class BlueLineQa final : public SceneQuestionTask {
 public:
  static constexpr TaskSpec kSpec = SceneQuestionSpec(
      "blue_line_qa", "say whether the agent looks along the blue line", kTables, kQuestions);
  explicit BlueLineQa(const TaskContext& context) : SceneQuestionTask(context, kSpec, kTables, kQuestions) {}

 private:
  QuestionExample DrawScene(std::int64_t row, RowRandom& random) const override {
    const int no = BalancedLabel(row, 2, kSpec.passes.size());
    const world::State state = world::BareState(random);
    world::Line line{.angle = 0, .extension = random.Uniform(1, 4)};
    do {
      const double away =
          no != 0 ? random.Uniform(kFacing, 2 * world::kPi - kFacing) : random.Uniform(-kFacing, kFacing);
      line.angle = world::WrapAngle(state.direction + away);
    } while ((world::AngleDifference(line.angle, state.direction) < kFacing) != (no == 0));  // rounding
    return {.scene = {state, {.line = line}}, .labels = {no}};
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::BlueLineQa)
