#include "tasks/drivers/finder.h"

#include <gtest/gtest.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <cmath>

#include "tasks/world/render.h"

namespace medley::tasks {
namespace {

constexpr int kPictureSize = 128;

Estimate Shown(const world::Scene& scene) {
  at::Tensor picture = at::empty({1, 3, kPictureSize, kPictureSize}, at::kByte);
  world::Render(scene, kPictureSize,
                {picture.mutable_data_ptr<std::uint8_t>(), static_cast<std::size_t>(picture.numel())});
  return EstimateObjects(picture.to(at::kDouble).div(255));
}

world::State Board() {
  world::State state;
  state.agent = {0.3, 0.4};
  state.gold.Add({0.7, 0.6});
  return state;
}

double Found(const world::Scene& drawn, const world::Scene& target, const world::Scene& input,
             double zoom = 1) {
  return ShareFound(Shown(drawn), Shown(target), Shown(input), at::full({1}, zoom, at::kDouble))
      .item<double>();
}

world::Scene Moved(double pixels) {
  world::State state = Board();
  state.agent.y += pixels / kPictureSize;
  return {state};
}

TEST(ShareFound, NeedsThePlace) {
  const world::Scene board{Board()};
  EXPECT_EQ(Found(board, board, board), 1);
  EXPECT_EQ(Found(Moved(5), board, board), 1);
  EXPECT_EQ(Found(Moved(8), board, board), 0.5) << "the gold is where it was";
  EXPECT_EQ(Found(Moved(8), board, board, /*zoom=*/2), 1);
}

TEST(ShareFound, NeedsTheSize) {
  const world::Scene board{Board()};
  for (const auto& [times, share] : {std::pair{1.3, 1.0}, {1.6, 0.5}, {0.8, 1.0}, {0.6, 0.5}}) {
    world::State state = Board();
    state.agent_radius *= times;
    EXPECT_EQ(Found({state}, board, board), share) << times << " times the radius";
  }
}

TEST(ShareFound, CountsWhatIsShownAndWhatShallBeGone) {
  const world::Scene board{Board()}, no_gold{Board(), {.gold = false}},
      nothing{Board(), {.agent = false, .gold = false}};
  EXPECT_EQ(Found(nothing, board, board), 0);
  EXPECT_EQ(Found(no_gold, no_gold, board), 1);
  EXPECT_EQ(Found(board, no_gold, board), 0.5) << "the gold is still there";
  EXPECT_EQ(Found(nothing, no_gold, board), 0.5) << "the gold is gone, and so is the agent";
  EXPECT_EQ(Found(board, no_gold, no_gold), 1) << "only what the input showed can be gone";
  EXPECT_TRUE(std::isnan(Found(board, nothing, nothing)));
}

}  // namespace
}  // namespace medley::tasks
