#include "tasks/world/control_scenes.h"

#include <algorithm>

#include "tests/tasks/world_testing.h"

namespace medley::world {
namespace {

Scene SceneOf(std::int64_t row) {
  RowRandom random = RandomOf(static_cast<std::uint64_t>(row));
  return ControlScene(row, random);
}

TEST(ControlScenes, AnyFortyRowsHoldEighteenCloseUps) {
  for (const std::int64_t first : {0, 13, 77, 1000}) {
    int close_ups = 0, low = 0;
    for (std::int64_t row = first; row < first + 40; ++row) {
      const auto zoom = SceneOf(row).options.zoom;
      close_ups += zoom.has_value();
      low += zoom && zoom->factor < 3;
    }
    EXPECT_EQ(close_ups, 18);
    EXPECT_LE(low, 9);
  }
}

TEST(ControlScenes, NeighboursAreOfUnlikeKinds) {
  for (std::int64_t first = 0; first < 200; first += 8) {
    int close_ups = 0;
    for (std::int64_t row = first; row < first + 8; ++row) close_ups += SceneOf(row).options.zoom.has_value();
    EXPECT_GE(close_ups, 2);
    EXPECT_LE(close_ups, 6);
  }
}

TEST(ControlScenes, FactorsAndCentresAreTheReferences) {
  constexpr int kRows = 8000;
  int factors = 0, gold = 0, agent = 0;
  double sum = 0, largest = 0, smallest = 100;
  for (int row = 0; row < kRows; ++row) {
    const Scene scene = SceneOf(row);
    if (!scene.options.zoom) continue;
    const auto& [factor, centre] = *scene.options.zoom;
    ++factors;
    sum += factor;
    largest = std::max(largest, factor);
    smallest = std::min(smallest, factor);
    for (const Point& g : scene.state.gold) gold += Distance(g, centre) == 0;
    agent += Distance(scene.state.agent, centre) == 0;
    EXPECT_GE(std::min(centre.x, centre.y), 0);
    EXPECT_LE(std::max(centre.x, centre.y), 1);
  }
  EXPECT_EQ(factors, kRows * 18 / 40);
  EXPECT_NEAR(sum / factors, (3.5 + (3 + 21.33) / 2) / 2, 0.2);
  EXPECT_GE(smallest, 2);
  EXPECT_LE(largest, 21.33);
  EXPECT_EQ(gold, kRows * 4 / 40);
  EXPECT_EQ(agent, kRows * 2 / 40);
}

TEST(ControlScenes, EveryKindCanBeDrawn) {
  for (std::int64_t row = 0; row < 80; ++row) {
    const auto pixels = Draw(SceneOf(row), 128);
    EXPECT_EQ(pixels, Draw(SceneOf(row), 128));
  }
}

}  // namespace
}  // namespace medley::world
