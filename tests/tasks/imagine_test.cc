#include <map>

#include "tests/tasks/seen.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {
namespace {

constexpr std::int64_t kLargeSize = 640;
constexpr double kEating = world::kAgentRadius + world::kGoldRadius;

struct Colors {
  bool agent, gold, walls;
};

// In the target, pixels of the colours that are left out are white, or what is under them; all others are as
// they were.
void ExpectLeftOut(const char* name, Colors left_out) {
  const Batch batch = TaskUnderTest(name, 224).task->Sample({21, 0, 20});
  for (std::int64_t row = 0; row < 20; ++row) {
    const at::Tensor input = batch.Column("image")[row], target = batch.Column("target")[row];
    const auto is = [&](std::uint32_t color) {
      return input[0]
          .eq(static_cast<int>(color >> 16))
          .logical_and(input[1].eq(static_cast<int>(color >> 8 & 255)))
          .logical_and(input[2].eq(static_cast<int>(color & 255)));
    };
    at::Tensor gone = at::zeros({224, 224}, at::kBool);
    if (left_out.agent) gone = gone.logical_or(is(world::kGreen)).logical_or(is(world::kRed));
    if (left_out.gold) gone = gone.logical_or(is(world::kYellow));
    if (left_out.walls) gone = gone.logical_or(is(world::kBlack));
    EXPECT_GT(gone.sum().item<int>(), 20) << name;
    EXPECT_TRUE(target.masked_select(gone).eq(255).all().item<bool>()) << name;
    EXPECT_TRUE(at::where(gone, 255, input).equal(target)) << name;
  }
}

TEST(Imagine, LeavesOutWhatItSays) {
  ExpectLeftOut("imagine_without_you", {.agent = true, .gold = false, .walls = false});
  ExpectLeftOut("imagine_without_gold", {.agent = false, .gold = true, .walls = false});
  ExpectLeftOut("imagine_without_walls", {.agent = false, .gold = false, .walls = true});
  ExpectLeftOut("imagine_walls_only", {.agent = true, .gold = true, .walls = false});
}

TEST(Imagine, FacingGoldOnlyTurnsTheAgent) {
  const Batch batch = TaskUnderTest("imagine_facing_gold", kLargeSize).task->Sample({22, 0, 40});
  for (std::int64_t row = 0; row < 40; ++row) {
    const Seen before = See(batch.Column("image")[row]), after = See(batch.Column("target")[row]);
    EXPECT_NEAR(Signed(after.direction() - after.bearing()), 0, 4 * kDegree);
    EXPECT_NEAR(world::Distance(before.agent, after.agent), 0, 0.002);
    EXPECT_EQ(world::Distance(before.gold, after.gold), 0);
    EXPECT_EQ(before.black, after.black);
  }
}

TEST(Imagine, CloserToGoldStandsHalfwayAndKeepsTheGold) {
  const Batch batch = TaskUnderTest("imagine_closer_to_gold", kLargeSize).task->Sample({23, 0, 80});
  for (std::int64_t row = 0; row < 80; ++row) {
    const Seen before = See(batch.Column("image")[row]), after = See(batch.Column("target")[row]);
    EXPECT_GE(before.distance(), 2 * kEating - 0.004);
    EXPECT_NEAR(after.agent.x, (before.agent.x + before.gold.x) / 2, 0.003);
    EXPECT_NEAR(after.agent.y, (before.agent.y + before.gold.y) / 2, 0.003);
    EXPECT_EQ(world::Distance(before.gold, after.gold), 0);
    EXPECT_NEAR(Signed(after.direction() - after.bearing()), 0, 4 * kDegree);
  }
}

// What a prompt says, read by a person: degrees anticlockwise before a walk, steps, degrees after it.
struct Meaning {
  double first;
  int steps;
  double then;
};

const std::map<std::string, Meaning>& Meanings() {
  static const std::map<std::string, Meaning> kMeanings{
      {"Imagine one step forward.", {0, 1, 0}},
      {"What if you walk one step?", {0, 1, 0}},
      {"Imagine two steps forward.", {0, 2, 0}},
      {"Imagine three steps forward.", {0, 3, 0}},
      {"Imagine five turns clockwise.", {-30, 0, 0}},
      {"Turn right by 30 degrees.", {-30, 0, 0}},
      {"Imagine five turns anticlockwise.", {30, 0, 0}},
      {"Imagine ten turns clockwise.", {-60, 0, 0}},
      {"Turn right by 60 degrees.", {-60, 0, 0}},
      {"Imagine ten turns anticlockwise.", {60, 0, 0}},
      {"Turn left by 60 degrees.", {60, 0, 0}},
      {"Imagine one turn clockwise.", {-6, 0, 0}},
      {"What if you turn right a little?", {-6, 0, 0}},
      {"Turn once with the clock.", {-6, 0, 0}},
      {"Imagine one turn anticlockwise.", {6, 0, 0}},
      {"What if you turn left a little?", {6, 0, 0}},
      {"Turn once against the clock.", {6, 0, 0}},
      {"Imagine that you turn round.", {180, 0, 0}},
      {"Imagine one step, then ten turns clockwise.", {0, 1, -60}},
      {"Imagine one step, then turn round.", {0, 1, 180}},
      {"Imagine that you turn round, then one step.", {180, 1, 0}},
      {"Imagine two steps, then one turn anticlockwise.", {0, 2, 6}},
  };
  return kMeanings;
}

TEST(Imagine, AfterMoveShowsWhatThePromptSays) {
  const TaskUnderTest test("imagine_after_move", kLargeSize);
  const auto prompts = test.Texts("prompts");
  ASSERT_EQ(prompts.size(), 22U);
  std::set<std::string> checked;
  for (std::int64_t begin = 0; begin < 240; begin += 40) {
    const Batch batch = test.task->Sample({24, begin, 40});
    for (std::int64_t row = 0; row < 40; ++row) {
      const std::string& prompt =
          prompts.at(static_cast<std::size_t>(batch.Column("task.prompt")[row].item<std::int64_t>()));
      ASSERT_EQ(Meanings().count(prompt), 1U) << prompt;
      const Meaning& says = Meanings().at(prompt);
      const Seen before = See(batch.Column("image")[row]), after = See(batch.Column("target")[row]);
      EXPECT_NEAR(Signed(after.direction() - before.direction() - (says.first + says.then) * kDegree), 0,
                  5 * kDegree)
          << prompt;
      const double heading = before.direction() + says.first * kDegree;
      const double way = says.steps * world::kStep;
      const double dx = after.agent.x - before.agent.x, dy = after.agent.y - before.agent.y;
      const double ahead = dx * std::cos(heading) + dy * std::sin(heading);
      EXPECT_LE(ahead, way + 0.006) << prompt;
      EXPECT_NEAR(-dx * std::sin(heading) + dy * std::cos(heading), 0, 0.015) << "no slipping aside";
      if (ahead < way - 0.006) continue;  // stopped by a wall
      if (after.yellow > 0) {
        EXPECT_GE(after.distance(), kEating - 0.004);
      }
      checked.insert(prompt);
    }
  }
  EXPECT_EQ(checked.size(), 22U);
}

TEST(Imagine, AfterMoveShowsNoGoldWhereItWasEaten) {
  const Batch batch = TaskUnderTest("imagine_after_move").task->Sample({25, 0, 1500});
  const auto has_gold = [](const at::Tensor& pictures) {
    return pictures.select(1, 1).eq(200).flatten(1).any(1);
  };
  EXPECT_TRUE(has_gold(batch.Column("image")).all().item<bool>());
  const auto eaten = has_gold(batch.Column("target")).logical_not().sum().item<int>();
  EXPECT_GT(eaten, 2);
  EXPECT_LT(eaten, 60);
}

}  // namespace
}  // namespace medley::tasks
