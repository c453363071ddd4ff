#include <medley/task/plugin.h>

#include "tasks/drivers/labels.h"
#include "tasks/drivers/question_task.h"
#include "tasks/world/chosen_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kPrompts[] = {
    "Could you almost touch it?",    "Is the coin near you?",      "Is it a short way to the gold?",
    "Is the gold only a step away?", "Are you close to the coin?",
};
constexpr std::array<Table, 3> kTables{
    {{"prompts", kPrompts}, {"yes", kYesTexts, /*reply=*/true}, {"no", kNoTexts, true}}};
constexpr std::array<Question, 1> kQuestions{{{"near", "prompts", {"yes", "no"}}}};

// Whether the gold is near.
class NearGoldQa final : public QuestionTask {
 public:
  static constexpr TaskSpec kSpec =
      QuestionSpec("near_gold_qa", "say whether the gold is near", kTables, kQuestions);
  static std::vector<std::string> Texts() { return TextsOf(kTables); }

  explicit NearGoldQa(const TaskContext& context) : QuestionTask(context, kTables, kQuestions) {}

 private:
  QuestionExample Draw(std::int64_t row, RowRandom& random) const override {
    const int no = BalancedLabel(row, 2, kSpec.passes.size());
    return {.scene = {world::StateByNearness(no == 0, random)}, .labels = {no}};
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::NearGoldQa)
