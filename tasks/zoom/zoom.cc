#include <medley/task/plugin.h>

#include "tasks/drivers/scene_picture_task.h"
#include "tasks/world/random_states.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kAgentTexts[] = {
    "Magnify yourself.",
    "Zoom in on the player.",
    "Show yourself from close by.",
    "Look closely at the player.",
    "Where do you stand? Make it large.",
};
constexpr std::string_view kGoldTexts[] = {
    "Magnify the coin.",
    "Zoom in on the gold.",
    "Show the gold from close by.",
    "Look closely at the coin.",
};
constexpr std::string_view kHalfwayTexts[] = {
    "Magnify the middle of the way to the coin.",
    "Zoom in between you and the gold.",
    "Show the middle of the way from close by.",
    "Look closely halfway to the coin.",
};
constexpr TextList kAgentPrompts{"agent_prompts", kAgentTexts};
constexpr TextList kGoldPrompts{"gold_prompts", kGoldTexts};
constexpr TextList kHalfwayPrompts{"halfway_prompts", kHalfwayTexts};

// The same state drawn larger, seen through a window about a point.
class Zoom : public ScenePictureTask {
 protected:
  Zoom(const TaskContext& context, const TaskSpec& spec, const TextList& prompts, double factor)
      : ScenePictureTask(context, spec, prompts, {.zoom = factor}), factor_(factor) {}

 private:
  virtual world::Point Centre(const world::State& state) const = 0;

  PictureExample DrawScene(std::int64_t, RowRandom& random) const final {
    const world::State state = world::BareState(random);
    return {.input = {state}, .target = {state, {.zoom = world::Zoom{factor_, Centre(state)}}}, .prompt = {}};
  }

  double factor_;
};

class ZoomAgent final : public Zoom {
 public:
  static constexpr TaskSpec kSpec =
      ScenePictureSpec("zoom_agent", "draw the agent six times as large", kAgentPrompts);
  explicit ZoomAgent(const TaskContext& context) : Zoom(context, kSpec, kAgentPrompts, 6) {}

 private:
  world::Point Centre(const world::State& state) const override { return state.agent; }
};

class ZoomGold final : public Zoom {
 public:
  static constexpr TaskSpec kSpec =
      ScenePictureSpec("zoom_gold", "draw the gold eight times as large", kGoldPrompts);
  explicit ZoomGold(const TaskContext& context) : Zoom(context, kSpec, kGoldPrompts, 8) {}

 private:
  world::Point Centre(const world::State& state) const override { return state.gold[0]; }
};

class ZoomHalfway final : public Zoom {
 public:
  static constexpr TaskSpec kSpec = ScenePictureSpec(
      "zoom_halfway", "draw the middle between agent and gold twice as large", kHalfwayPrompts);
  explicit ZoomHalfway(const TaskContext& context) : Zoom(context, kSpec, kHalfwayPrompts, 2) {}

 private:
  world::Point Centre(const world::State& state) const override {
    return {(state.agent.x + state.gold[0].x) / 2, (state.agent.y + state.gold[0].y) / 2};
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::ZoomAgent, medley::tasks::ZoomGold, medley::tasks::ZoomHalfway)
