#include <medley/task/plugin.h>

#include <medley/task/drivers/labels.h>

#include "tasks/drivers/scene_question_task.h"
#include "tasks/world/chosen_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kPrompts[] = {
    "Could you almost touch it?",    "Is the coin near you?",      "Is it a short way to the gold?",
    "Is the gold only a step away?", "Are you close to the coin?",
};
constexpr std::array<TextList, 3> kTables{
    {{"prompts", kPrompts}, {"yes", kYesTexts, /*reply=*/true}, {"no", kNoTexts, true}}};
constexpr std::array<Question, 1> kQuestions{{{"near", "prompts", {"yes", "no"}}}};

// Whether the gold is near.
class NearGoldQa final : public SceneQuestionTask {
 public:
  static constexpr TaskSpec kSpec =
      SceneQuestionSpec("near_gold_qa", "say whether the gold is near", kTables, kQuestions);
  explicit NearGoldQa(const TaskContext& context) : SceneQuestionTask(context, kSpec, kTables, kQuestions) {}

 private:
  QuestionExample DrawScene(std::int64_t row, RowRandom& random) const override {
    const int no = BalancedLabel(row, 2, kSpec.passes.size());
    return {.scene = {world::StateByNearness(no == 0, random)}, .labels = {no}};
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::NearGoldQa)
