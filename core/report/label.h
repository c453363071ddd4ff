#pragma once

#include <string>

#include <medley/report/picture.h>

namespace medley {

// The text as a picture, light on the ground of a sheet: letters (all as capitals), digits and "_-./%"; of
// anything else a blank.
Picture MakeLabel(const std::string& text);

}  // namespace medley
