#include <medley/report/picture.h>

#include <gtest/gtest.h>

#include <medley/base/error.h>

#include "tests/report/made_picture.h"
#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

TEST(Picture, PngIsLossless) {
  const ScratchDirectory scratch;
  const Picture picture = MadePicture(13, 7);
  WriteText(scratch / "a.png", EncodePng(picture));
  const Picture again = ReadPng(scratch / "a.png");
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

TEST(Picture, WhatIsNoPngIsRefusedWithItsPath) {
  const ScratchDirectory scratch;
  WriteText(scratch / "a.png", "no picture");
  WriteText(scratch / "b.png", EncodePng(MadePicture(9, 9)));
  const std::string whole = ReadText(scratch / "b.png");
  WriteText(scratch / "b.png", whole.substr(0, whole.size() / 2));
  for (const char* name : {"a.png", "b.png", "missing.png"}) {
    try {
      ReadPng(scratch / name);
      FAIL() << name;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace medley
