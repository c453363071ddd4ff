#pragma once

#include <medley/report/picture.h>

namespace medley {

// No two neighbours are alike.
inline Picture MadePicture(std::int64_t width, std::int64_t height) {
  Picture picture(width, height);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i)
    picture.pixels[i] = static_cast<std::uint8_t>(i * 7);
  return picture;
}

}  // namespace medley
