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

tasks::Found Shares(const world::Scene& drawn, const world::Scene& target, const world::Scene& input,
                    double zoom = 1) {
  return ShareFound(Shown(drawn), {.target = Shown(target), .input = Shown(input)},
                    at::full({1}, zoom, at::kDouble));
}
double Changed(const world::Scene& drawn, const world::Scene& target, const world::Scene& input) {
  return Shares(drawn, target, input).changed.item<double>();
}
double Kept(const world::Scene& drawn, const world::Scene& target, const world::Scene& input) {
  return Shares(drawn, target, input).kept.item<double>();
}

// Of a board of which the model saw nothing, so that all of it has to be drawn.
double FoundOfAll(const world::Scene& drawn, const world::Scene& target, double zoom = 1) {
  const world::Scene nothing{Board(), {.agent = false, .gold = false}};
  return Shares(drawn, target, nothing, zoom).changed.item<double>();
}

world::Scene Moved(double pixels) {
  world::State state = Board();
  state.agent.y += pixels / kPictureSize;
  return {state};
}

TEST(ShareFound, NeedsThePlace) {
  const world::Scene board{Board()};
  EXPECT_EQ(FoundOfAll(board, board), 1);
  EXPECT_EQ(FoundOfAll(Moved(5), board), 1);
  EXPECT_EQ(FoundOfAll(Moved(8), board), 0.5) << "the gold is where it was";
  EXPECT_EQ(FoundOfAll(Moved(8), board, /*zoom=*/2), 1);
}

TEST(ShareFound, NeedsTheSize) {
  const world::Scene board{Board()};
  for (const auto& [times, share] : {std::pair{1.3, 1.0}, {1.6, 0.5}, {0.8, 1.0}, {0.6, 0.5}}) {
    world::State state = Board();
    state.agent_radius *= times;
    EXPECT_EQ(FoundOfAll({state}, board), share) << times << " times the radius";
  }
}

TEST(ShareFound, CountsWhatIsShownAndWhatShallBeGone) {
  const world::Scene board{Board()}, no_gold{Board(), {.gold = false}},
      nothing{Board(), {.agent = false, .gold = false}};
  EXPECT_EQ(FoundOfAll(nothing, board), 0);
  EXPECT_EQ(Changed(no_gold, no_gold, board), 1);
  EXPECT_EQ(Changed(board, no_gold, board), 0) << "the gold is still there";
  EXPECT_EQ(Changed(nothing, no_gold, board), 1) << "the gold is gone";
  EXPECT_EQ(Kept(nothing, no_gold, board), 0) << "and so is the agent";
  EXPECT_TRUE(std::isnan(Changed(board, no_gold, no_gold))) << "only what the input showed can be gone";
  EXPECT_TRUE(std::isnan(FoundOfAll(board, nothing)));
}

// What can be copied does not count as drawn.
TEST(ShareFound, TellsWhatChangedFromWhatStays) {
  const world::Scene board{Board()}, moved = Moved(20);
  EXPECT_EQ(Changed(board, moved, board), 0) << "the agent did not move";
  EXPECT_EQ(Kept(board, moved, board), 1) << "the gold stayed";
  EXPECT_EQ(Changed(moved, moved, board), 1);
  EXPECT_TRUE(std::isnan(Changed(board, board, board))) << "nothing changes";
  EXPECT_EQ(Kept(board, board, board), 1);
  for (const double pixels : {1.0, 2.0}) EXPECT_EQ(Changed(Moved(pixels), Moved(pixels), board), 1);
  // A turn is a change of the agent alone, though it stands where it stood.
  for (const double angle : {0.5, 1.5, 3.1}) {
    world::State turned = Board();
    turned.direction += angle;
    EXPECT_EQ(Changed({turned}, {turned}, board), 1) << angle;
    EXPECT_EQ(Kept({turned}, {turned}, board), 1) << angle;
    if (angle > 1) {
      EXPECT_EQ(Changed(board, {turned}, board), 0) << angle << ": a copy looks the old way";
    }
  }
  // What is magnified changes, also where it stays in the middle.
  const world::Scene large{Board(), {.zoom = world::Zoom{6, Board().agent}}};
  EXPECT_TRUE(std::isnan(Kept(large, large, board)));
}

}  // namespace
}  // namespace medley::tasks
