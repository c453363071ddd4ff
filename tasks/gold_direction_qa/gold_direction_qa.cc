#include <medley/task/plugin.h>

#include <medley/task/drivers/labels.h>

#include "tasks/drivers/scene_question_task.h"
#include "tasks/world/chosen_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kPrompts[] = {
    "Is the coin dead ahead?",
    "Do you look at the coin?",
    "Is the gold straight in front of you?",
    "Does your eye point at the gold?",
};
constexpr std::array<TextList, 3> kTables{
    {{"prompts", kPrompts}, {"yes", kYesTexts, /*reply=*/true}, {"no", kNoTexts, true}}};
constexpr std::array<Question, 1> kQuestions{{{"facing_gold", "prompts", {"yes", "no"}}}};

// Whether the agent looks at the gold: going straight ahead would hit it.
class GoldDirectionQa final : public SceneQuestionTask {
 public:
  static constexpr TaskSpec kSpec =
      SceneQuestionSpec("gold_direction_qa", "say whether the agent looks at the gold", kTables, kQuestions);
  explicit GoldDirectionQa(const TaskContext& context)
      : SceneQuestionTask(context, kSpec, kTables, kQuestions) {}

 private:
  QuestionExample DrawScene(std::int64_t row, RowRandom& random) const override {
    const int no = BalancedLabel(row, 2, kSpec.passes.size());
    return {.scene = {world::StateByAim(no == 0, random)}, .labels = {no}};
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::GoldDirectionQa)
