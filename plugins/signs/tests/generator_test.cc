// What the made-up signs promise: a pair's two movements differ in the order of their frames, and in nothing
// else.
#include "pose/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/clips.h"

namespace medley_signs {
namespace {

using Features = std::vector<double>;

// Of the joints that move: without their order in time, sorted.
Features OrderFree(const Clip& clip) {
  Features features;
  for (const std::size_t joint : {std::size_t{kRightWrist}, std::size_t{kLeftWrist}, std::size_t{kRightElbow},
                                  kRightHand + 1, kLeftHand + 1}) {
    for (double Point::*part : {&Point::x, &Point::y}) {
      std::vector<double> values;
      for (const Frame& frame : clip.frames) values.push_back(frame[joint].*part);
      std::sort(values.begin(), values.end());
      features.insert(features.end(), values.begin(), values.end());
    }
  }
  return features;
}

Features InOrder(const Clip& clip) {
  Features features;
  for (const Frame& frame : clip.frames) {
    for (const std::size_t joint : {kRightWrist, kLeftWrist}) {
      features.push_back(frame[joint].x);
      features.push_back(frame[joint].y);
    }
  }
  return features;
}

// How often the nearer of two classes' means is the right one, on clips that the means were not made of.
template <typename Fn>
double NearestMean(int pair, int place, const Fn& features) {
  constexpr int kClips = 1200, kFrames = 24;
  // Of all training's signers, in both handshapes: what they bring is the same for both movements.
  const auto clip = [&](int movement, int number) {
    const SignSetting setting{.missing = 0};
    const Sign sign{2 * pair + movement, place, number % 2};
    return features(MakeClip(sign, setting, medley::Split::kTraining,
                             RandomOf(static_cast<std::uint64_t>(4 * number + movement) + 77), kFrames));
  };
  std::vector<Features> means(2);
  for (int number = 0; number < kClips; ++number) {
    for (int movement = 0; movement < 2; ++movement) {
      const Features found = clip(movement, number);
      means[movement].resize(found.size());
      for (std::size_t i = 0; i < found.size(); ++i) means[movement][i] += found[i] / kClips;
    }
  }
  int right = 0;
  for (int number = kClips; number < 2 * kClips; ++number) {
    for (int movement = 0; movement < 2; ++movement) {
      const Features found = clip(movement, number);
      double distance[2] = {0, 0};
      for (int other = 0; other < 2; ++other) {
        for (std::size_t i = 0; i < found.size(); ++i)
          distance[other] += (found[i] - means[other][i]) * (found[i] - means[other][i]);
      }
      right += (distance[1] < distance[0] ? 1 : 0) == movement ? 1 : 0;
    }
  }
  return right / (2.0 * kClips);
}

TEST(Generator, APairIsToldApartByTheOrderOfFramesAlone) {
  for (int pair = 0; pair < 3; ++pair) {
    // Two and a half deviations of 2,400 coins.
    EXPECT_NEAR(NearestMean(pair, 2, OrderFree), 0.5, 0.0255) << pair;
    EXPECT_GT(NearestMean(pair, 2, InOrder), 0.55) << pair;
  }
}

// One clip run backwards is its pair's with onset and offset, and the ends of the warp, exchanged. As these
// are drawn alike, means over many clips agree.
TEST(Generator, AMovementRunBackwardsHasThePlacesOfItsPair) {
  for (int pair = 0; pair < 3; ++pair) {
    std::map<int, double> sums;
    for (int movement = 0; movement < 2; ++movement) {
      for (int number = 0; number < 4000; ++number) {
        const Clip clip =
            MakeClip({2 * pair + movement, 1, 0}, {.jitter = 0, .missing = 0}, medley::Split::kTraining,
                     RandomOf(static_cast<std::uint64_t>(number)), 20);
        for (std::size_t i = 0; i < clip.frames.size(); ++i) {
          const std::size_t at = movement == 0 ? i : clip.frames.size() - 1 - i;
          sums[movement] += static_cast<double>(i * i) * clip.frames[at][kRightWrist].y;
        }
      }
    }
    EXPECT_NEAR(sums[1] / sums[0], 1, 2e-3) << pair;
  }
}

TEST(Generator, LabelsAreBalancedInEveryAlignedRangeOfRows) {
  for (const SignSetting& setting : {SignSetting{}, SignSetting{.movements = 2, .places = 3}}) {
    const std::int64_t count = setting.movements * setting.places * setting.handshapes;
    for (std::int64_t begin = 0; begin < 3 * count; begin += count) {
      std::set<std::int64_t> labels;
      for (std::int64_t row = begin; row < begin + count; ++row)
        labels.insert(LabelOf(SignOfRow(row, setting)));
      EXPECT_EQ(std::ssize(labels), count);
    }
  }
  for (std::int64_t label = 0; label < kSigns; ++label) EXPECT_EQ(LabelOf(SignOf(label)), label);
}

TEST(Generator, SignersOfTheTwoSplitsAreOthers) {
  std::map<medley::Split, std::set<std::int64_t>> signers;
  for (const medley::Split split : {medley::Split::kTraining, medley::Split::kHeldOut}) {
    for (std::uint64_t seed = 0; seed < 400; ++seed)
      signers[split].insert(MakeClip({}, {}, split, RandomOf(seed), 1).signer);
  }
  EXPECT_EQ(std::ssize(signers[medley::Split::kTraining]), kTrainingSigners);
  EXPECT_EQ(std::ssize(signers[medley::Split::kHeldOut]), kUnseenSigners);
  for (const std::int64_t signer : signers[medley::Split::kHeldOut])
    EXPECT_EQ(signers[medley::Split::kTraining].count(signer), 0u);
}

TEST(Generator, AClipIsAFunctionOfItsRandomNumbers) {
  const SignSetting setting;
  const auto make = [&](std::uint64_t seed) {
    return MakeClip({3, 2, 1}, setting, medley::Split::kTraining, RandomOf(seed));
  };
  EXPECT_EQ(make(5), make(5));
  EXPECT_FALSE(make(5) == make(6));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_GE(std::ssize(make(seed).frames), setting.shortest);
    EXPECT_LE(std::ssize(make(seed).frames), setting.longest);
  }
}

// Else a smaller signer would be an exact image of a larger one, which boxes undo to the last bit.
TEST(Generator, TheJitterIsThePicturesWhateverTheSignersSize) {
  const auto jitter = [](double scale, std::size_t joint) {
    const auto place = [&](double jitter) {
      return MakeClip({1, 2, 1}, {.scale = scale, .jitter = jitter, .missing = 0}, medley::Split::kTraining,
                      RandomOf(4), 20)
          .frames[7][joint];
    };
    return place(1) - place(0);
  };
  for (std::size_t joint = 0; joint < kJoints; ++joint) {
    EXPECT_GT(Length(jitter(1, joint)), 1e-5);
    EXPECT_LT(Length(jitter(1, joint) - jitter(0.5, joint)), 1e-12);
  }
}

// Both hands leave their rest, or one does; by the pair and the place, not by the movement.
TEST(Generator, TwoHandedSignsAreThoseOfTheirPairAndPlace) {
  for (std::int64_t label = 0; label < kSigns; ++label) {
    const Sign sign = SignOf(label);
    const Clip clip = MakeClip(sign, {.jitter = 0, .missing = 0}, medley::Split::kTraining, RandomOf(3), 21);
    int moving = 0;
    for (const std::size_t wrist : {kRightWrist, kLeftWrist})
      moving += Length(clip.frames[10][wrist] - clip.frames[0][wrist]) > 0.02 ? 1 : 0;
    EXPECT_EQ(moving, (sign.movement / 2 + sign.place) % 3 == 0 ? 2 : 1) << label;
  }
}

TEST(Generator, MissingHandsAreWhollyMissingAndAsOftenAsAsked) {
  int missing = 0, hands = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Clip clip = MakeClip({}, {.missing = 0.1}, medley::Split::kTraining, RandomOf(seed), 40);
    for (const Frame& frame : clip.frames) {
      for (const std::size_t hand : {kLeftHand, kRightHand}) {
        const auto begin = frame.begin() + static_cast<std::ptrdiff_t>(hand);
        const auto found =
            std::count_if(begin, begin + kHandJoints, [](const Point& p) { return p.found(); });
        EXPECT_TRUE(found == 0 || found == static_cast<std::ptrdiff_t>(kHandJoints));
        missing += found == 0 ? 1 : 0;
        ++hands;
      }
    }
  }
  EXPECT_NEAR(missing / static_cast<double>(hands), 0.1, 0.02);
}

}  // namespace
}  // namespace medley_signs
