#pragma once

#include <array>

#include "pose/clip.h"

namespace medley_signs {

// How far each finger is bent, 0 to 1; index finger first, thumb last.
using Curls = std::array<double, kFingers>;

// Where a hand is and how it is held. Lengths are in shoulder widths, the neck is at (0, 0), y grows
// downwards.
struct HandPose {
  Point wrist;
  Curls curls{};
};

struct FigureSetting {
  double reach = 1;        // times the length of the arms
  double wrist_angle = 0;  // of the hand against the forearm, radians
};

inline constexpr Point kRestingRightWrist = {-0.55, 1.45};

// Of somebody who faces the camera, so that the right hand is on the picture's left.
Frame MakeFigure(const HandPose& right, const HandPose& left, const FigureSetting& setting);

}  // namespace medley_signs
