#include "pose/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pose/gaussian.h"

namespace medley_signs {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr Point kMiddle = {0.5, 0.5};

template <typename Fn>
void ForEachJoint(Clip& clip, const Fn& fn) {
  for (Frame& frame : clip.frames) ForEachFound(frame, fn);
}

void TurnArms(Clip& clip, double strength, medley::RowRandom& random) {
  for (const bool right : {true, false}) {
    for (std::size_t at = 0; at < 4; ++at) {
      const bool turns = random.Uniform() < 0.3;
      const double angle = strength * random.Uniform(-4 * kDegree, 4 * kDegree);
      if (turns) TurnArm(clip, right, at, angle);
    }
  }
}

void AugmentAsSpoter(Clip& clip, double strength, medley::RowRandom& random) {
  const bool changes = random.Coin();
  const std::int64_t which = random.Below(4);
  if (changes && which == 0) Turn(clip, strength * random.Uniform(-13 * kDegree, 13 * kDegree));
  if (changes && which == 1) {
    const double share = strength * random.Uniform(0, 0.1);
    SqueezeSide(clip, share, random.Coin());
  }
  if (changes && which == 2) {
    const double left = strength * random.Uniform(0, 0.15);
    const double right = strength * random.Uniform(0, 0.15);
    SqueezeBoth(clip, left, right);
  }
  if (changes && which == 3) TurnArms(clip, strength, random);
  AddNoise(clip, strength * 0.001, 0, kJoints, random);
}

void AugmentAsBdslw(Clip& clip, double strength, medley::RowRandom& random) {
  if (random.Uniform() >= 0.7) return;
  const double frames = random.Uniform(-0.2, 0.2), angle = random.Uniform(-10 * kDegree, 10 * kDegree);
  if (random.Uniform() < 0.3) Stretch(clip, 1 + strength * frames);
  if (random.Uniform() < 0.4) AddNoise(clip, strength * 0.02, 0, kJoints, random);
  if (random.Uniform() < 0.3) Turn(clip, strength * angle);
  if (random.Uniform() < 0.5) AddNoise(clip, strength * 0.03, kLeftHand, 2 * kHandJoints, random);
}

}  // namespace

void Augment(Clip& clip, Augmentation augmentation, double strength, medley::RowRandom& random) {
  if (strength == 0) return;
  if (augmentation == Augmentation::kSpoter) AugmentAsSpoter(clip, strength, random);
  if (augmentation == Augmentation::kBdslw) AugmentAsBdslw(clip, strength, random);
}

void Turn(Clip& clip, double angle) {
  ForEachJoint(clip, [&](Point& point) { point = kMiddle + Turned(point - kMiddle, angle); });
}

void SqueezeSide(Clip& clip, double share, bool right) {
  ForEachJoint(clip, [&](Point& point) {
    const double nearness = right ? point.x : 1 - point.x;
    point.y = 0.5 + (point.y - 0.5) * (1 - 2 * share * nearness);
  });
}

void SqueezeBoth(Clip& clip, double left, double right) {
  ForEachJoint(clip, [&](Point& point) { point.x = left + point.x * (1 - left - right); });
}

void TurnArm(Clip& clip, bool right, std::size_t at, double angle) {
  const std::size_t joints[] = {kNeck, right ? kRightShoulder : kLeftShoulder,
                                right ? kRightElbow : kLeftElbow, right ? kRightWrist : kLeftWrist};
  const std::size_t hand = right ? kRightHand : kLeftHand;
  for (Frame& frame : clip.frames) {
    const Point pivot = frame[joints[at]];
    if (!pivot.found()) continue;
    const auto turn = [&](Point& point) {
      if (point.found()) point = pivot + Turned(point - pivot, angle);
    };
    for (std::size_t next = at + 1; next < 4; ++next) turn(frame[joints[next]]);
    for (std::size_t joint = hand; joint < hand + kHandJoints; ++joint) turn(frame[joint]);
  }
}

// A joint that one of the two neighbours lacks is that of the nearer one.
void Stretch(Clip& clip, double factor) {
  const auto before = static_cast<double>(clip.frames.size());
  const auto count = std::max<std::int64_t>(1, std::llround(before * factor));
  std::vector<Frame> frames(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const double place = std::clamp(
        (static_cast<double>(i) + 0.5) * before / static_cast<double>(count) - 0.5, 0.0, before - 1);
    const auto first = static_cast<std::size_t>(place);
    const std::size_t second = std::min(first + 1, clip.frames.size() - 1);
    const double share = place - static_cast<double>(first);
    for (std::size_t joint = 0; joint < kJoints; ++joint) {
      const Point a = clip.frames[first][joint], b = clip.frames[second][joint];
      const bool both = a.found() && b.found();
      frames[i][joint] = both ? a * (1 - share) + b * share : share < 0.5 ? a : b;
    }
  }
  clip.frames = std::move(frames);
}

void AddNoise(Clip& clip, double deviation, std::size_t first, std::size_t joints,
              medley::RowRandom& random) {
  for (Frame& frame : clip.frames) {
    for (std::size_t joint = first; joint < first + joints; ++joint) {
      const double x = deviation * Gaussian(random), y = deviation * Gaussian(random);
      if (frame[joint].found()) frame[joint] = frame[joint] + Point{x, y};
    }
  }
}

}  // namespace medley_signs
