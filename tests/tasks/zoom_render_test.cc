#include "tests/tasks/world_testing.h"

namespace medley::world {
namespace {

TEST(ZoomRender, EqualsTheCropOfTheLargeRendering) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RowRandom random = RandomOf(seed);
    Scene scene{seed % 2 == 0 ? FullState(random) : BareState(random), {}};
    if (seed % 3 == 0) scene.options.line = Line{random.Uniform(0, 2 * kPi), random.Uniform(0, 3)};
    if (seed % 5 == 1) scene.state.walls.Add({0.4, 0.3, 0.5, 0.0625, random.Uniform(0, 2)});
    const int size = seed % 4 == 0 ? 224 : 128;
    scene.options.zoom = Zoom{random.Uniform(1, 9), {random.Uniform(), random.Uniform()}};
    EXPECT_TRUE(Draw(scene, size) == CropOfFull(scene, size)) << seed;
  }
}

TEST(ZoomRender, ShowsTheReferencesDiscs) {
  State state;
  state.agent = {0.5, 0.5};
  state.gold.Add({0.3, 0.3});
  const auto agent = Draw({state, {.zoom = Zoom{6, state.agent}}}, 224);
  EXPECT_EQ(CountPixels(agent, 224, kRed), 2104);                                           // radius 26
  EXPECT_NEAR(CountPixels(agent, 224, kRed) + CountPixels(agent, 224, kGreen), 14044, 60);  // 67
  const auto gold = Draw({state, {.zoom = Zoom{8, state.gold[0]}}}, 224);
  EXPECT_EQ(CountPixels(gold, 224, kYellow), 2440);  // 28
}

TEST(ZoomRender, TheWindowNeverLeavesTheArena) {
  State state = BareStateOf(2);
  const auto corner = Draw({state, {.agent = false, .gold = false, .zoom = Zoom{4, {1, 1}}}}, 224);
  // The last 56 pixels of each axis are wall.
  for (int i = 0; i < 224; ++i) EXPECT_EQ(PixelOf(corner, 224, 223, i), kBlack);
  EXPECT_EQ(PixelOf(corner, 224, 100, 100), kWhite);
}

}  // namespace
}  // namespace medley::world
