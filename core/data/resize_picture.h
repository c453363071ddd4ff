#pragma once

#include <cstdint>

#include <medley/model/picture_rule.h>
#include <medley/report/picture.h>

namespace medley {

// The picture with `size` pixels a side, to the byte as torchvision 0.26 makes it of bytes on the CPU, with
// antialias: what preprocessors of published folders do (shortest edge and centre crop, or both sides at
// once). Only what is left of the picture is computed, so that a long one costs no more. An Error where the
// rule does not resize and the picture has another size, or where it has no pixels.
Picture ResizePicture(const Picture& picture, std::int64_t size, const PictureRule& rule);

}  // namespace medley
