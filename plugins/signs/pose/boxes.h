#pragma once

#include "pose/clip.h"

namespace medley_signs {

// Coordinates by the signer's own body: neither where somebody stands nor how large the picture shows them
// is seen after it.
//
// Body: the box of a frame goes three shoulder widths from the neck to either side, and from one shoulder
// width above the left eye six of them down; without a shoulder, neck to nose takes the width's place. A
// frame that lacks these joints takes the box of the last that has them, before there is one that of the
// first. Where no frame has, the whole clip stays as it is.
//
// Hands: in each frame the box of each hand's joints, a tenth of the longer side wider on every side, and
// square. A hand of no extent comes to lie in the middle.
//
// Then 0.5 is taken off: the middle is (0, 0), as is a joint that was not found.
void PutIntoBoxes(Clip& clip);

}  // namespace medley_signs
