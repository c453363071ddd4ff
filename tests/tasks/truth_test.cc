#include "tasks/world/solver.h"
#include "tests/tasks/task_testing.h"
#include "tests/tasks/world_testing.h"

namespace medley::tasks {
namespace {

std::vector<std::uint8_t> PictureOf(const Batch& batch, std::string_view column, std::int64_t row) {
  const at::Tensor picture = batch.Column(column)[row].contiguous();
  const auto* first = picture.const_data_ptr<std::uint8_t>();
  return {first, first + picture.numel()};
}

world::State StateOf(const Batch& batch, std::int64_t row) {
  RowRandom random = batch.rows().Random(batch.rows().begin + row);
  return world::BareState(random);
}

// Mean row and column of the pixels of some colours.
world::Point Centre(const std::vector<std::uint8_t>& pixels, std::initializer_list<std::uint32_t> colors) {
  double rows = 0, columns = 0, count = 0;
  for (int i = 0; i < 128; ++i) {
    for (int j = 0; j < 128; ++j) {
      for (const std::uint32_t color : colors) {
        if (world::PixelOf(pixels, 128, i, j) != color) continue;
        rows += i, columns += j, ++count;
      }
    }
  }
  return {rows / count, columns / count};
}

TEST(Truth, PositionLabelsAreWhatThePictureShows) {
  const TaskUnderTest test("position_qa");
  const Batch batch = test.task->Sample({11, 0, 200});
  const auto label = [&](const char* question, std::int64_t row) {
    return batch.Column(std::string(question) + ".label")[row].item<std::int64_t>();
  };
  int checked = 0;
  for (std::int64_t row = 0; row < 200; ++row) {
    const auto picture = PictureOf(batch, "image", row);
    const world::Point gold = Centre(picture, {world::kYellow});
    const world::Point agent = Centre(picture, {world::kGreen, world::kRed});
    if (std::abs(gold.y - agent.y) > 1.5) {  // the first label is left, or up
      EXPECT_EQ(label("gold_side", row), gold.y < agent.y ? 0 : 1);
      EXPECT_EQ(label("agent_side", row), agent.y < gold.y ? 0 : 1);
      ++checked;
    }
    if (std::abs(gold.x - agent.x) > 1.5) {
      EXPECT_EQ(label("gold_height", row), gold.x < agent.x ? 0 : 1);
      EXPECT_EQ(label("agent_height", row), agent.x < gold.x ? 0 : 1);
    }
  }
  EXPECT_GT(checked, 180);
}

TEST(Truth, PositionLabelsAreBalanced) {
  const TaskUnderTest test("position_qa");
  const Batch batch = test.task->Sample({12, 0, 600});
  for (const char* question : {"gold_side", "gold_height", "agent_side", "agent_height"}) {
    world::ExpectRate(batch.Column(std::string(question) + ".label").sum().item<std::int64_t>(), 600, 0.5);
  }
}

TEST(Truth, TheArrowAddsLinePixelsOnly) {
  const TaskUnderTest test("arrow_to_gold");
  const Batch batch = test.task->Sample({13, 0, 60});
  int drawn = 0;
  for (std::int64_t row = 0; row < 60; ++row) {
    const auto input = PictureOf(batch, "image", row);
    const auto target = PictureOf(batch, "target", row);
    int changed = 0;
    for (int i = 0; i < 128; ++i) {
      for (int j = 0; j < 128; ++j) {
        const auto now = world::PixelOf(target, 128, i, j);
        if (now == world::PixelOf(input, 128, i, j)) continue;
        EXPECT_EQ(now, world::kBlue);
        ++changed;
      }
    }
    drawn += changed > 0;
    EXPECT_EQ(world::CountPixels(input, 128, world::kBlue), 0);
    const world::State state = StateOf(batch, row);
    EXPECT_LE(changed, 2 * 128 * world::GoldDistance(state) + 8);
    if (changed < 20) continue;
    // Its middle lies halfway between the two rims.
    const world::Point middle = Centre(target, {world::kBlue});
    const double along =
        (0.5 + (world::kAgentRadius - world::kGoldRadius) / (2 * world::GoldDistance(state))) * 128;
    EXPECT_NEAR(middle.x, state.agent.x * 128 + along * (state.gold[0].x - state.agent.x), 2);
    EXPECT_NEAR(middle.y, state.agent.y * 128 + along * (state.gold[0].y - state.agent.y), 2);
  }
  EXPECT_GT(drawn, 50);
}

TEST(Truth, ZoomTargetsAreCropsOfTheLargePicture) {
  struct Case {
    const char* name;
    double factor, along;  // where the centre lies between agent (0) and gold (1)
  };
  for (const Case& zoom : {Case{"zoom_agent", 6, 0}, Case{"zoom_gold", 8, 1}, Case{"zoom_halfway", 2, 0.5}}) {
    const TaskUnderTest test(zoom.name);
    const Batch batch = test.task->Sample({14, 0, 12});
    for (std::int64_t row = 0; row < 12; ++row) {
      world::Scene scene{StateOf(batch, row), {}};
      EXPECT_EQ(PictureOf(batch, "image", row), world::Draw(scene, 128));
      const world::Point& agent = scene.state.agent;
      const world::Point& gold = scene.state.gold[0];
      const world::Point centre = zoom.along == 0 ? agent
                                  : zoom.along == 1
                                      ? gold
                                      : world::Point{(agent.x + gold.x) / 2, (agent.y + gold.y) / 2};
      scene.options.zoom = world::Zoom{zoom.factor, centre};
      EXPECT_EQ(PictureOf(batch, "target", row), world::CropOfFull(scene, 128)) << zoom.name;
    }
  }
}

}  // namespace
}  // namespace medley::tasks
