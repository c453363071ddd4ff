#include "pose/figure.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace medley_signs {
namespace {

constexpr double kUpperArm = 0.85, kForearm = 0.8;
constexpr double kHandWidth = 0.16, kPalm = 0.2;                    // to the knuckles
constexpr std::array<double, 3> kSegments = {0.085, 0.055, 0.045};  // of a finger, from its knuckle
constexpr std::array<double, kFingers> kFingerLength = {1, 1.1, 1, 0.8, 0.9};
constexpr double kMostBend = 1.5;  // radians of one joint

Point Mirror(Point point) { return {-point.x, point.y}; }

// The elbow of a right arm: outside of the line from shoulder to wrist, below it where the hand is in front.
Point ElbowOf(Point shoulder, Point wrist, double reach) {
  const double upper = kUpperArm * reach, fore = kForearm * reach;
  const Point arm = wrist - shoulder;
  const double length = std::clamp(Length(arm), 0.05, 0.999 * (upper + fore));
  const double along = (length * length + upper * upper - fore * fore) / (2 * length);
  const double beside = std::sqrt(std::max(0.0, upper * upper - along * along));
  const Point direction = arm * (1 / std::max(Length(arm), 1e-9));
  return shoulder + direction * along + Turned(direction, std::numbers::pi / 2) * beside;
}

// Joints of a right hand; what is bent out of the picture looks shorter.
void PutHand(Frame& frame, std::size_t first, const HandPose& hand, Point along) {
  const Point across = Turned(along, std::numbers::pi / 2);
  frame[first] = hand.wrist;
  for (std::size_t finger = 0; finger < kFingers; ++finger) {
    const bool thumb = finger + 1 == kFingers;
    const double side = thumb ? 0.5 : 0.4 - 0.27 * static_cast<double>(finger);
    Point place = hand.wrist + along * (thumb ? 0.3 * kPalm : kPalm) + across * (side * kHandWidth);
    const Point direction = thumb ? Turned(along, 0.7) : Turned(along, 0.15 * side);
    double bend = 0;
    for (std::size_t joint = kFingerJoints; joint-- > 0;) {
      frame[first + FingerJoint(finger, joint)] = place;
      if (joint == 0) break;
      bend += hand.curls[finger] * kMostBend;
      place =
          place + direction * (kSegments[kFingerJoints - 1 - joint] * kFingerLength[finger] * std::cos(bend));
    }
  }
}

void PutRightArm(Frame& frame, const HandPose& hand, const FigureSetting& setting) {
  frame[kRightShoulder] = {-0.5, 0.08};
  frame[kRightElbow] = ElbowOf(frame[kRightShoulder], hand.wrist, setting.reach);
  frame[kRightWrist] = hand.wrist;
  const Point forearm = hand.wrist - frame[kRightElbow];
  PutHand(frame, kRightHand, hand,
          Turned(forearm * (1 / std::max(Length(forearm), 1e-9)), setting.wrist_angle));
}

}  // namespace

Frame MakeFigure(const HandPose& right, const HandPose& left, const FigureSetting& setting) {
  Frame frame{}, mirrored{};
  frame[kNose] = {0, -0.52};
  frame[kRightEye] = {-0.13, -0.64};
  frame[kRightEar] = {-0.27, -0.58};
  PutRightArm(frame, right, setting);
  PutRightArm(mirrored, {Mirror(left.wrist), left.curls}, setting);
  frame[kLeftEye] = Mirror(frame[kRightEye]);
  frame[kLeftEar] = Mirror(frame[kRightEar]);
  for (std::size_t joint = 0; joint < kJoints; ++joint) {
    if (mirrored[joint].found()) frame[Mirrored(joint)] = Mirror(mirrored[joint]);  // the arm that was put
  }
  return frame;
}

}  // namespace medley_signs
