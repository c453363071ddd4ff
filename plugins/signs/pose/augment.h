#pragma once

#include <medley/base/random.h>

#include "pose/clip.h"

namespace medley_signs {

// How training's clips are changed. Both sorts move hands with the body, leave joints that were not found,
// and may change the number of frames: the clip's own is the only one there is.
enum class Augmentation {
  kNone,
  // Of half of the clips one of four: turned about the middle by up to 13 degrees; one side squeezed by up to
  // a tenth; both by up to 0.15; arms turned at neck, shoulder, elbow and wrist, each with a chance of 0.3,
  // by up to 4 degrees. Then every joint by a deviation of 0.001.
  kSpoter,
  // Of seven in ten clips each of these with its chance: 0.8 to 1.2 times as many frames (0.3), noise of a
  // deviation of 0.02 (0.4), turned by up to 10 degrees (0.3), hands' noise of 0.03 (0.5).
  kBdslw,
};

// `strength`: times angles, shares and deviations; 0 leaves the clip as it is.
void Augment(Clip& clip, Augmentation augmentation, double strength, medley::RowRandom& random);

// The parts of it.
void Turn(Clip& clip, double angle);                      // radians, about the picture's middle
void SqueezeSide(Clip& clip, double share, bool right);   // the height of that side
void SqueezeBoth(Clip& clip, double left, double right);  // shares of the width
// At neck (0), shoulder, elbow, wrist (3) of an arm: what follows turns about that joint.
void TurnArm(Clip& clip, bool right, std::size_t at, double angle);
void Stretch(Clip& clip, double factor);  // times as many frames, at least one, taken in between
void AddNoise(Clip& clip, double deviation, std::size_t first, std::size_t joints, medley::RowRandom& random);

}  // namespace medley_signs
