#pragma once

#include <string_view>

#include <medley/report/picture.h>

namespace medley {

// How the pixels of a picture lie, by its EXIF data, which are TIFF's: the orientation (tag 0x0112) of the
// first directory, 1 to 8. 1, upright, where they say none, or none that there is, or cannot be read.
int ExifOrientation(std::string_view tiff);

// The picture whose pixels lie so, turned and mirrored until it is upright.
Picture Upright(Picture stored, int orientation);

}  // namespace medley
