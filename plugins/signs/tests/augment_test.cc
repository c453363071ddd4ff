#include "pose/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/clips.h"

namespace medley_signs {
namespace {

constexpr Point kMiddle = {0.5, 0.5};

TEST(Augment, StrengthZeroIsTheIdentity) {
  for (const Augmentation augmentation : {Augmentation::kNone, Augmentation::kSpoter, Augmentation::kBdslw}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Clip clip = WholeClip(seed);
      medley::RowRandom random = RandomOf(seed);
      Augment(clip, augmentation, 0, random);
      EXPECT_EQ(clip, WholeClip(seed));
    }
  }
}

TEST(Augment, IsAFunctionOfTheRandomNumbers) {
  for (const Augmentation augmentation : {Augmentation::kSpoter, Augmentation::kBdslw}) {
    const auto made = [&](std::uint64_t seed) {
      Clip clip = WholeClip(1, 40);
      medley::RowRandom random = RandomOf(seed);
      Augment(clip, augmentation, 1, random);
      return clip;
    };
    int changed = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      EXPECT_EQ(made(seed), made(seed));
      changed += made(seed) == WholeClip(1, 40) ? 0 : 1;
    }
    EXPECT_GE(changed, 8);
  }
}

// The published code shears the body and leaves the hands where they were.
TEST(Augment, HandsGoWithTheBody) {
  const auto expect_together = [](const char* what, const auto& change) {
    Clip clip = WholeClip(2);
    change(clip);
    for (const Frame& frame : clip.frames) {
      EXPECT_LT(Length(frame[kRightHand] - frame[kRightWrist]), 0.03) << what;
      EXPECT_LT(Length(frame[kLeftHand] - frame[kLeftWrist]), 0.03) << what;
    }
  };
  expect_together("as it is", [](Clip&) {});
  expect_together("turned", [](Clip& clip) { Turn(clip, 0.5); });
  expect_together("a side", [](Clip& clip) { SqueezeSide(clip, 0.4, true); });
  expect_together("both", [](Clip& clip) { SqueezeBoth(clip, 0.3, 0.2); });
  expect_together("arm", [](Clip& clip) { TurnArm(clip, true, 1, 1.0); });
}

TEST(Augment, TurningKeepsDistancesToTheMiddle) {
  const Clip before = WholeClip(3);
  Clip clip = before;
  Turn(clip, 0.2);
  for (std::size_t i = 0; i < clip.frames.size(); ++i) {
    for (std::size_t joint = 0; joint < kJoints; ++joint)
      EXPECT_NEAR(Length(clip.frames[i][joint] - kMiddle), Length(before.frames[i][joint] - kMiddle), 1e-12);
  }
  EXPECT_GT(Length(clip.frames[0][kNose] - before.frames[0][kNose]), 1e-3);
}

TEST(Augment, TurningAnArmKeepsTheLengthsOfItsParts) {
  const Clip before = WholeClip(4);
  for (const bool right : {true, false}) {
    const std::size_t chain[] = {kNeck, right ? kRightShoulder : kLeftShoulder,
                                 right ? kRightElbow : kLeftElbow, right ? kRightWrist : kLeftWrist,
                                 right ? kRightHand : kLeftHand};
    for (std::size_t at = 0; at < 4; ++at) {
      Clip clip = before;
      TurnArm(clip, right, at, 0.3);
      for (std::size_t i = 0; i < clip.frames.size(); ++i) {
        for (std::size_t part = 0; part < 4; ++part) {
          EXPECT_NEAR(Length(clip.frames[i][chain[part + 1]] - clip.frames[i][chain[part]]),
                      Length(before.frames[i][chain[part + 1]] - before.frames[i][chain[part]]), 1e-12);
        }
      }
      EXPECT_EQ(clip.frames[0][kNose], before.frames[0][kNose]);
      EXPECT_EQ(clip.frames[0][right ? kLeftWrist : kRightWrist],
                before.frames[0][right ? kLeftWrist : kRightWrist]);
      EXPECT_GT(Length(clip.frames[0][chain[4] + 1] - before.frames[0][chain[4] + 1]), 1e-4) << at;
    }
  }
}

TEST(Augment, AStretchedClipHasItsNewLengthAndTheSameEnds) {
  const Clip before = WholeClip(5, 40);
  for (const auto& [factor, frames] : {std::pair{0.8, 32}, {1.2, 48}, {1.0, 40}, {0.001, 1}}) {
    Clip clip = before;
    Stretch(clip, factor);
    ASSERT_EQ(std::ssize(clip.frames), frames);
    if (frames == 1) continue;
    EXPECT_LT(Length(clip.frames.front()[kRightWrist] - before.frames.front()[kRightWrist]), 0.05);
    EXPECT_LT(Length(clip.frames.back()[kRightWrist] - before.frames.back()[kRightWrist]), 0.05);
  }
  std::set<std::ptrdiff_t> lengths;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Clip clip = before;
    medley::RowRandom random = RandomOf(seed);
    Augment(clip, Augmentation::kBdslw, 1, random);
    lengths.insert(std::ssize(clip.frames));
  }
  EXPECT_GE(*lengths.begin(), 32);
  EXPECT_LE(*lengths.rbegin(), 48);
  EXPECT_GT(lengths.size(), 4u);
}

TEST(Augment, WhatWasNotFoundStaysNowhere) {
  Clip clip = WholeClip(6, 30);
  for (Frame& frame : clip.frames) frame[kNose] = {};
  medley::RowRandom random = RandomOf(6);
  for (int i = 0; i < 10; ++i) {
    Augment(clip, Augmentation::kSpoter, 1, random);
    Augment(clip, Augmentation::kBdslw, 1, random);
  }
  for (const Frame& frame : clip.frames) EXPECT_FALSE(frame[kNose].found());
}

}  // namespace
}  // namespace medley_signs
