#include "pose/boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/clips.h"

namespace medley_signs {
namespace {

template <typename Fn>
Clip Changed(Clip clip, const Fn& fn) {
  for (Frame& frame : clip.frames) ForEachFound(frame, fn);
  return clip;
}

TEST(Boxes, NeitherPlaceNorSizeOfTheSignerIsSeen) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Clip clip = WholeClip(seed);
    const Clip moved = Changed(clip, [](Point& p) { p = p * 0.37 + Point{0.21, 0.4}; });
    EXPECT_LT(Distance(Boxed(clip), Boxed(moved)), 1e-5);
    EXPECT_GT(Distance(clip, moved), 0.1);
  }
}

// Trap (a), the direction of y, is ClipCsv's: clips grow downwards.

// (b) The box is that of whole shoulder widths, and a hand is not turned over.
TEST(Boxes, TheBodysBoxIsSixShoulderWidthsWide) {
  Clip clip = WholeClip(5);
  Frame& frame = clip.frames[0];
  const double width = Length(frame[kLeftShoulder] - frame[kRightShoulder]);
  frame[kNose] = frame[kNeck] + Point{3 * width, 0};
  frame[kRightWrist] = {frame[kNeck].x - 3 * width, frame[kLeftEye].y + 5 * width};
  PutIntoBoxes(clip);
  EXPECT_NEAR(clip.frames[0][kNose].x, 0.5, 1e-9);
  EXPECT_NEAR(clip.frames[0][kNeck].x, 0, 1e-9);
  EXPECT_NEAR(clip.frames[0][kRightWrist].x, -0.5, 1e-9);
  EXPECT_NEAR(clip.frames[0][kRightWrist].y, 0.5, 1e-9);
}

TEST(Boxes, AHandFillsItsBoxButForAMargin) {
  const Clip clip = WholeClip(8), boxed = Boxed(clip);
  for (const Frame& frame : boxed.frames) {
    for (const std::size_t hand : {kLeftHand, kRightHand}) {
      Point low{1, 1}, high{-1, -1};
      for (std::size_t joint = hand; joint < hand + kHandJoints; ++joint) {
        low = {std::min(low.x, frame[joint].x), std::min(low.y, frame[joint].y)};
        high = {std::max(high.x, frame[joint].x), std::max(high.y, frame[joint].y)};
      }
      const bool wide = high.x - low.x > high.y - low.y;
      const Point long_side = wide ? Point{low.x, high.x} : Point{low.y, high.y},
                  short_side = wide ? Point{low.y, high.y} : Point{low.x, high.x};
      EXPECT_NEAR(long_side.x + 0.5, 1 / 12.0, 1e-9);
      EXPECT_NEAR(long_side.y + 0.5, 11 / 12.0, 1e-9);
      EXPECT_NEAR(short_side.x + short_side.y, 0, 1e-9);
    }
  }
  // The fingertip is above the wrist in the box where it is in the picture.
  for (std::size_t i = 0; i < clip.frames.size(); ++i) {
    EXPECT_EQ(clip.frames[i][kRightHand + 1].y < clip.frames[i][kRightHand].y,
              boxed.frames[i][kRightHand + 1].y < boxed.frames[i][kRightHand].y);
  }
}

// (c) A clip without any box of a body is left whole, hands and all, and not half changed.
TEST(Boxes, AClipWithoutABodysBoxStaysAsItIs) {
  Clip clip = WholeClip(9);
  for (Frame& frame : clip.frames) frame[kNeck] = {};
  const Clip boxed = Boxed(clip);
  for (std::size_t i = 0; i < clip.frames.size(); ++i) {
    for (std::size_t joint = 0; joint < kJoints; ++joint) {
      const Point expected =
          clip.frames[i][joint].found() ? clip.frames[i][joint] - Point{0.5, 0.5} : Point{};
      EXPECT_EQ(boxed.frames[i][joint], expected);
    }
  }
}

TEST(Boxes, AFrameWithoutABoxTakesThatOfTheLastThatHasOne) {
  const Clip whole = WholeClip(11);
  Clip clip = whole;
  for (const std::size_t i : {std::size_t{0}, std::size_t{5}}) clip.frames[i][kLeftEye] = {};
  const Clip boxed = Boxed(clip);
  const auto unit = [&](std::size_t i) {
    return Length(whole.frames[i][kLeftShoulder] - whole.frames[i][kRightShoulder]);
  };
  const auto expected = [&](std::size_t i, std::size_t of) {
    return (whole.frames[i][kRightWrist].x - whole.frames[of][kNeck].x) / (6 * unit(of));
  };
  EXPECT_NEAR(boxed.frames[5][kRightWrist].x, expected(5, 4), 1e-9);
  EXPECT_NEAR(boxed.frames[0][kRightWrist].x, expected(0, 1), 1e-9);
  EXPECT_NEAR(boxed.frames[6][kRightWrist].x, expected(6, 6), 1e-9);
}

TEST(Boxes, WithoutAShoulderTheNoseGivesTheUnit) {
  Clip clip = WholeClip(12, 1);
  const Frame before = clip.frames[0];
  clip.frames[0][kLeftShoulder] = {};
  PutIntoBoxes(clip);
  EXPECT_NEAR(clip.frames[0][kRightWrist].x,
              (before[kRightWrist].x - before[kNeck].x) / (6 * Length(before[kNeck] - before[kNose])), 1e-9);
}

// (d) Nothing is divided by a width of 0.
TEST(Boxes, NoExtentGivesFiniteNumbers) {
  Clip clip = WholeClip(13, 3);
  for (std::size_t joint = kLeftHand; joint < kRightHand; ++joint) clip.frames[1][joint] = {0.3, 0.4};
  clip.frames[2][kLeftShoulder] = clip.frames[2][kRightShoulder];
  PutIntoBoxes(clip);
  for (const Frame& frame : clip.frames) {
    for (const Point& point : frame) EXPECT_TRUE(std::isfinite(point.x) && std::isfinite(point.y));
  }
  EXPECT_EQ(clip.frames[1][kLeftHand], Point{});
}

// (e) What is done to a clip does not hang on those before it.
TEST(Boxes, NoStateIsKeptBetweenClips) {
  const Clip first = Boxed(WholeClip(14));
  Clip empty{.frames = std::vector<Frame>(3)};
  PutIntoBoxes(empty);
  EXPECT_EQ(Boxed(WholeClip(14)), first);
  for (const Frame& frame : empty.frames) EXPECT_EQ(frame, Frame{});
}

// (f) All 54 joints arrive, hands too.
TEST(Boxes, JointsThatWereNotFoundStayNowhereAndTheOthersDoNot) {
  Clip clip = WholeClip(15);
  for (std::size_t joint = kRightHand; joint < kJoints; ++joint) clip.frames[2][joint] = {};
  clip.frames[3][kNose] = {};
  PutIntoBoxes(clip);
  for (std::size_t joint = kRightHand; joint < kJoints; ++joint) EXPECT_FALSE(clip.frames[2][joint].found());
  EXPECT_FALSE(clip.frames[3][kNose].found());
  for (std::size_t joint = 0; joint < kJoints; ++joint)
    EXPECT_TRUE(clip.frames[4][joint].found()) << JointName(joint);
}

}  // namespace
}  // namespace medley_signs
