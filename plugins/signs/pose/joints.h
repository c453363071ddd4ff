#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace medley_signs {

// The skeleton: 12 joints of the body, then 21 of the left and 21 of the right hand.
enum Joint : std::size_t {
  kNose,
  kNeck,
  kRightEye,
  kLeftEye,
  kRightEar,
  kLeftEar,
  kRightShoulder,
  kLeftShoulder,
  kRightElbow,
  kLeftElbow,
  kRightWrist,
  kLeftWrist,
  kBodyJoints
};

inline constexpr std::size_t kHandJoints = 21;
inline constexpr std::size_t kJoints = kBodyJoints + 2 * kHandJoints;
inline constexpr std::size_t kLeftHand = kBodyJoints, kRightHand = kBodyJoints + kHandJoints;

// Of a hand: its wrist, then index, middle, ring and little finger from the tip to the knuckle, then the
// thumb.
inline constexpr std::size_t kFingers = 5, kFingerJoints = 4;
constexpr std::size_t FingerJoint(std::size_t finger, std::size_t from_tip) {
  return 1 + finger * kFingerJoints + from_tip;
}

// The joint on the other side of the body.
constexpr std::size_t Mirrored(std::size_t joint) {
  if (joint >= kRightHand) return joint - kHandJoints;
  if (joint >= kLeftHand) return joint + kHandJoints;
  if (joint < kRightEye) return joint;
  return joint % 2 == 0 ? joint + 1 : joint - 1;
}

// "leftEye", "indexTip_right": columns of a file are called so, with "_X" or "_Y" behind.
inline std::string JointName(std::size_t joint) {
  constexpr std::array<std::string_view, kBodyJoints> kBody = {
      "nose",          "neck",         "rightEye",   "leftEye",   "rightEar",   "leftEar",
      "rightShoulder", "leftShoulder", "rightElbow", "leftElbow", "rightWrist", "leftWrist"};
  constexpr std::array<std::string_view, kHandJoints> kHand = {
      "wrist",     "indexTip",  "indexDIP",  "indexPIP", "indexMCP", "middleTip", "middleDIP",
      "middlePIP", "middleMCP", "ringTip",   "ringDIP",  "ringPIP",  "ringMCP",   "littleTip",
      "littleDIP", "littlePIP", "littleMCP", "thumbTip", "thumbIP",  "thumbMP",   "thumbCMC"};
  if (joint < kBodyJoints) return std::string(kBody[joint]);
  const std::size_t at = (joint - kBodyJoints) % kHandJoints;
  return std::string(kHand[at]) + (joint < kRightHand ? "_left" : "_right");
}

}  // namespace medley_signs
