#include "pose/generator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <medley/task/drivers/labels.h>

#include "pose/figure.h"
#include "pose/gaussian.h"

namespace medley_signs {
namespace {

using medley::RowRandom;

constexpr Curls kFlat = {0.05, 0.05, 0.05, 0.05, 0.1}, kPointing = {0.05, 0.95, 0.95, 0.95, 0.8},
                kRelaxed = {0.4, 0.45, 0.45, 0.5, 0.3};

// What somebody's signs have in common.
struct Signer {
  double shoulders;  // of the picture's side
  Point neck;        // in the picture
  double roll, reach, amplitude, wrist_angle, jitter;
  bool left_handed;
};

Signer SignerOf(std::int64_t number) {
  RowRandom random(medley::CombineSeeds(medley::HashName("signer"), static_cast<std::uint64_t>(number)));
  constexpr double kDegree = std::numbers::pi / 180;
  Signer signer{};
  signer.shoulders = random.Uniform(0.14, 0.26);
  signer.neck.x = random.Uniform(0.43, 0.57);
  signer.neck.y = random.Uniform(0.36, 0.46);
  signer.roll = random.Uniform(-5 * kDegree, 5 * kDegree);
  signer.reach = random.Uniform(0.95, 1.15);
  signer.amplitude = random.Uniform(0.8, 1.2);
  signer.wrist_angle = random.Uniform(-20 * kDegree, 20 * kDegree);
  signer.jitter = random.Uniform(0.001, 0.004);
  const std::int64_t tenth = number % 10;  // three of ten, in both splits
  signer.left_handed = tenth == 2 || tenth == 5 || tenth == 9;
  return signer;
}

// From 0 to 1, the same seen from either end.
double Smooth(double t) { return t * t * (3 - 2 * t); }

// The path of a pair, from its first to its last place, about (0, 0).
Point PathAt(int pair, double s) {
  if (pair == 0) return {0, 0.4 * (1 - 2 * s)};
  if (pair == 1) return Turned({0, -0.3}, 2 * std::numbers::pi * s);
  const double tooth = 3 * s - std::floor(3 * s);
  return {0.8 * s - 0.4, 0.35 * (0.5 - (tooth < 0.8 ? tooth / 0.8 : (1 - tooth) / 0.2))};
}

// When what happens, in parts of the clip.
struct Timing {
  double onset, offset;  // from rest to the path, from the path to rest
  double exponent;
  bool late;  // the warp of the path, as seen from its end

  explicit Timing(RowRandom& random) {
    onset = random.Uniform(0.1, 0.25);
    offset = random.Uniform(0.1, 0.25);
    exponent = std::exp(random.Uniform(-0.22, 0.22));
    late = random.Coin();
  }
  double Along(double time) const {
    const double t = std::clamp((time - onset) / (1 - onset - offset), 0.0, 1.0);
    return late ? 1 - std::pow(1 - t, exponent) : std::pow(t, exponent);
  }
  // 0 at rest, 1 on the path.
  double Raised(double time) const {
    return Smooth(std::clamp(std::min(time / onset, (1 - time) / offset), 0.0, 1.0));
  }
};

Point PlaceOf(const Sign& sign) {
  constexpr std::array<Point, kPlaces> kPlaceOf = {
      Point{-0.05, -0.85}, {-0.05, -0.3}, {-0.05, 0.6}, {0.75, 0.25}, {-0.85, 0.25}};
  Point place = kPlaceOf[static_cast<std::size_t>(sign.place)];
  if (IsTwoHanded(sign) && sign.place < 3) place.x -= 0.45;  // the other hand is as far on its own side
  return place;
}

// A clip's own hands, those of somebody right-handed.
class Signing {
 public:
  Signing(const Sign& sign, const Signer& signer, RowRandom& random)
      : sign_(sign), signer_(signer), timing_(random) {
    amplitude_ = signer.amplitude * random.Uniform(0.9, 1.1);
    const double x = random.Uniform(-0.08, 0.08), y = random.Uniform(-0.08, 0.08);
    place_ = PlaceOf(sign) + Point{x, y};
    const double rest_x = random.Uniform(-0.08, 0.08), rest_y = random.Uniform(-0.08, 0.08);
    rest_ = kRestingRightWrist + Point{rest_x, rest_y};
  }

  Frame At(double time) const {
    const double along = timing_.Along(time), raised = timing_.Raised(time);
    const bool back = sign_.movement % 2 == 1;
    const Point path = place_ + PathAt(sign_.movement / 2, back ? 1 - along : along) * amplitude_;
    const Curls& shape = sign_.handshape == 0 ? kFlat : kPointing;
    HandPose hand{rest_ + (path - rest_) * raised}, other{{-rest_.x, rest_.y}, kRelaxed};
    for (std::size_t i = 0; i < kFingers; ++i)
      hand.curls[i] = kRelaxed[i] + (shape[i] - kRelaxed[i]) * raised;
    if (IsTwoHanded(sign_)) other = {{-hand.wrist.x, hand.wrist.y}, hand.curls};
    return MakeFigure(hand, other, {.reach = signer_.reach, .wrist_angle = signer_.wrist_angle});
  }

 private:
  Sign sign_;
  const Signer& signer_;
  Timing timing_;
  double amplitude_ = 1;
  Point place_, rest_;
};

// Into the picture; left-handed people are right-handed ones in a mirror.
Frame InPicture(const Frame& figure, const Signer& signer, double scale) {
  Frame frame{};
  for (std::size_t joint = 0; joint < kJoints; ++joint) {
    Point place = signer.neck + Turned(figure[joint], signer.roll) * (signer.shoulders * scale);
    if (signer.left_handed) place.x = 1 - place.x;
    frame[signer.left_handed ? Mirrored(joint) : joint] = place;
  }
  return frame;
}

void Disturb(Frame& frame, double jitter, double missing, RowRandom& random) {
  for (Point& point : frame) {
    point.x += jitter * Gaussian(random);
    point.y += jitter * Gaussian(random);
  }
  for (const std::size_t hand : {kLeftHand, kRightHand}) {
    if (random.Uniform() < missing)
      std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(hand), kHandJoints, Point{});
  }
}

}  // namespace

Sign SignOfRow(std::int64_t row, const SignSetting& setting) {
  const int count = setting.movements * setting.places * setting.handshapes;
  const int at = medley::BalancedLabel(row, count);
  return {at / (setting.places * setting.handshapes), at / setting.handshapes % setting.places,
          at % setting.handshapes};
}

Clip MakeClip(const Sign& sign, const SignSetting& setting, medley::Split split, RowRandom random,
              std::int64_t frames) {
  const bool unseen = split == medley::Split::kHeldOut;
  Clip clip{
      .label = LabelOf(sign),
      .signer = unseen ? kTrainingSigners + random.Below(kUnseenSigners) : random.Below(kTrainingSigners)};
  const Signer signer = SignerOf(clip.signer);
  const std::int64_t drawn = setting.shortest + random.Below(setting.longest - setting.shortest + 1);
  const std::int64_t count = frames > 0 ? frames : drawn;
  const Signing signing(sign, signer, random);
  for (std::int64_t i = 0; i < count; ++i) {
    const double time = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    clip.frames.push_back(InPicture(signing.At(time), signer, setting.scale));
    Disturb(clip.frames.back(), setting.jitter * signer.jitter, setting.missing, random);
  }
  return clip;
}

}  // namespace medley_signs
