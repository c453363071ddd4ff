#include <medley/report/picture.h>

#include <gtest/gtest.h>

#include "tests/report/made_picture.h"

namespace medley {
namespace {

TEST(Picture, PngIsLossless) {
  const Picture picture = MadePicture(13, 7);
  const Picture again = DecodePng(EncodePng(picture), "");
  EXPECT_EQ(again.width, 13);
  EXPECT_EQ(again.height, 7);
  EXPECT_EQ(again.pixels, picture.pixels);
}

TEST(Picture, PlanesAndPixelsAreTheSamePicture) {
  const Picture picture = MadePicture(5, 4);
  const auto planes = picture.ToPlanes();
  EXPECT_EQ(planes[5 * 4 + 1], picture.pixels[3 * 1 + 1]);  // green of the second pixel
  EXPECT_EQ(Picture::FromPlanes(planes.data(), 5, 4).pixels, picture.pixels);
}

}  // namespace
}  // namespace medley
