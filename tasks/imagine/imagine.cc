#include <medley/task/plugin.h>

#include "tasks/drivers/scene_picture_task.h"
#include "tasks/imagine/moves.h"
#include "tasks/world/random_states.h"
#include "tasks/world/solver.h"

namespace medley::tasks {
namespace {

constexpr std::string_view kWithoutYouTexts[] = {
    "Show it with nobody here.",
    "Draw the board without the player.",
    "Imagine that you are not here.",
    "Leave the player out.",
};
constexpr std::string_view kWithoutGoldTexts[] = {
    "Show it without the coin.",
    "Imagine the room without gold.",
    "Draw the board when the coin is gone.",
    "Take the gold out of the picture.",
    "Leave the coin out.",
};
constexpr std::string_view kWithoutWallsTexts[] = {
    "Show it without walls.",
    "Imagine that the walls are gone.",
    "Draw you and the coin, no walls.",
    "Take the walls out of the picture.",
    "Leave the walls out.",
};
constexpr std::string_view kWallsOnlyTexts[] = {
    "Draw only the walls.",
    "Show the empty room.",
    "Leave out the player and the coin.",
    "Imagine walls and nothing else.",
    "Show walls, no coin and no player.",
};
constexpr std::string_view kFacingGoldTexts[] = {
    "Imagine that you look at the coin.", "Show yourself facing the gold.",
    "Draw how you would face the coin.",  "What if you turn to the gold?",
    "Let your eye point at the coin.",    "Show the board after a turn to the gold.",
};
constexpr std::string_view kCloserTexts[] = {
    "Imagine that you are closer to the coin.",    "Show yourself halfway to the gold.",
    "Draw the board with you near the coin.",      "What if you walk half of the way to the gold?",
    "Stand in the middle of the way to the coin.",
};

constexpr TextList kWithoutYouPrompts{"prompts", kWithoutYouTexts};
constexpr TextList kWithoutGoldPrompts{"prompts", kWithoutGoldTexts};
constexpr TextList kWithoutWallsPrompts{"prompts", kWithoutWallsTexts};
constexpr TextList kWallsOnlyPrompts{"prompts", kWallsOnlyTexts};
constexpr TextList kFacingGoldPrompts{"prompts", kFacingGoldTexts};
constexpr TextList kCloserPrompts{"prompts", kCloserTexts};

constexpr auto kMoveTexts = [] {
  std::array<std::string_view, kImaginedMoves.size()> texts{};
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = kImaginedMoves[i].text;
  return texts;
}();
constexpr TextList kMovePrompts{"prompts", kMoveTexts};

constexpr auto kMoves = [] {
  std::array<Runs, kImaginedMoves.size()> moves{};
  for (std::size_t i = 0; i < moves.size(); ++i) moves[i] = ParseActions(kImaginedMoves[i].actions);
  return moves;
}();

constexpr TaskSpec LeaveOutSpec(std::string_view name, std::string_view summary, const TextList& prompts) {
  TaskSpec spec = ScenePictureSpec(name, summary, prompts);
  spec.score.name = "mean_error_of_parts";  // see PictureExam::judge_what_stays
  return spec;
}

// The same state with something left out.
class LeaveOut : public ScenePictureTask {
 protected:
  LeaveOut(const TaskContext& context, const TaskSpec& spec, const TextList& prompts,
           const world::RenderOptions& shown)
      : ScenePictureTask(context, spec, prompts, {.judge_what_stays = true}), shown_(shown) {}

 private:
  PictureExample DrawScene(std::int64_t, RowRandom& random) const final {
    const world::State state = world::BareState(random);
    return {.input = {state}, .target = {state, shown_}, .prompt = {}};
  }

  world::RenderOptions shown_;
};

class WithoutYou final : public LeaveOut {
 public:
  static constexpr TaskSpec kSpec =
      LeaveOutSpec("imagine_without_you", "draw the board without the agent", kWithoutYouPrompts);
  explicit WithoutYou(const TaskContext& context)
      : LeaveOut(context, kSpec, kWithoutYouPrompts, {.agent = false}) {}
};

class WithoutGold final : public LeaveOut {
 public:
  static constexpr TaskSpec kSpec =
      LeaveOutSpec("imagine_without_gold", "draw the board without its gold", kWithoutGoldPrompts);
  explicit WithoutGold(const TaskContext& context)
      : LeaveOut(context, kSpec, kWithoutGoldPrompts, {.gold = false}) {}
};

class WithoutWalls final : public LeaveOut {
 public:
  static constexpr TaskSpec kSpec =
      LeaveOutSpec("imagine_without_walls", "draw the board without its walls", kWithoutWallsPrompts);
  explicit WithoutWalls(const TaskContext& context)
      : LeaveOut(context, kSpec, kWithoutWallsPrompts, {.walls = false}) {}
};

class WallsOnly final : public LeaveOut {
 public:
  static constexpr TaskSpec kSpec =
      LeaveOutSpec("imagine_walls_only", "draw nothing but the walls", kWallsOnlyPrompts);
  explicit WallsOnly(const TaskContext& context)
      : LeaveOut(context, kSpec, kWallsOnlyPrompts, {.agent = false, .gold = false}) {}
};

class FacingGold final : public ScenePictureTask {
 public:
  static constexpr TaskSpec kSpec =
      ScenePictureSpec("imagine_facing_gold", "draw the agent turned towards the gold", kFacingGoldPrompts);
  explicit FacingGold(const TaskContext& context) : ScenePictureTask(context, kSpec, kFacingGoldPrompts) {}

 private:
  PictureExample DrawScene(std::int64_t, RowRandom& random) const override {
    const world::State state = world::BareState(random);
    world::State turned = state;
    turned.direction = world::Bearing(state);
    return {.input = {state}, .target = {turned}, .prompt = {}};
  }
};

class CloserToGold final : public ScenePictureTask {
 public:
  static constexpr TaskSpec kSpec = ScenePictureSpec(
      "imagine_closer_to_gold", "draw the agent halfway to the gold, facing it", kCloserPrompts);
  explicit CloserToGold(const TaskContext& context) : ScenePictureTask(context, kSpec, kCloserPrompts) {}

 private:
  // Closer than this, the agent would eat the gold at the middle of the way.
  static constexpr double kLeastDistance = 2 * (world::kAgentRadius + world::kGoldRadius);

  PictureExample DrawScene(std::int64_t, RowRandom& random) const override {
    world::State state;
    do {
      state = world::BareState(random);
    } while (world::GoldDistance(state) < kLeastDistance);
    world::State closer = state;
    closer.direction = world::Bearing(state);
    closer.agent = {(state.agent.x + state.gold[0].x) / 2, (state.agent.y + state.gold[0].y) / 2};
    return {.input = {state}, .target = {closer}, .prompt = {}};
  }
};

// Gold that is eaten on the way is gone; a wall stops a step, as in the game.
class AfterMove final : public ScenePictureTask {
 public:
  static constexpr TaskSpec kSpec =
      ScenePictureSpec("imagine_after_move", "draw the board after some actions", kMovePrompts);
  explicit AfterMove(const TaskContext& context) : ScenePictureTask(context, kSpec, kMovePrompts) {}

 private:
  PictureExample DrawScene(std::int64_t, RowRandom& random) const override {
    const world::State state = world::BareState(random);
    const std::int64_t move = random.Below(kMoves.size());
    return {
        .input = {state}, .target = {After(state, kMoves[static_cast<std::size_t>(move)])}, .prompt = move};
  }
};

}  // namespace
}  // namespace medley::tasks

MEDLEY_PLUGIN(medley::tasks::WithoutYou, medley::tasks::WithoutGold, medley::tasks::WithoutWalls,
              medley::tasks::WallsOnly, medley::tasks::FacingGold, medley::tasks::CloserToGold,
              medley::tasks::AfterMove)
