#include <medley/task/plugin.h>

#include "tasks/drivers/scene_picture_task.h"
#include "tasks/world/random_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kTexts[] = {
    "Show the way to the coin.",
    "Draw an arrow to the gold.",
    "Point at the coin.",
    "Connect yourself with the coin.",
    "Which way is the gold? Draw it.",
    "Draw the straight path to the coin.",
};
constexpr TextList kPrompts{"prompts", kTexts};

// The same picture with a line from the agent's rim to the gold's.
class ArrowToGold final : public ScenePictureTask {
 public:
  static constexpr TaskSpec kSpec =
      ScenePictureSpec("arrow_to_gold", "draw a line from the agent to the gold", kPrompts);
  explicit ArrowToGold(const TaskContext& context) : ScenePictureTask(context, kSpec, kPrompts) {}

 private:
  PictureExample DrawScene(std::int64_t, RowRandom& random) const override {
    const world::State state = world::BareState(random);
    return {.input = {state}, .target = {state, {.line = world::LineToGold(state)}}, .prompt = {}};
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::ArrowToGold)
