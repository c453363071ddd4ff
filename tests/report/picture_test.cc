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
  WritePng(picture, scratch / "a.png");
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
  WritePng(MadePicture(9, 9), scratch / "b.png");
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

TEST(Picture, ASheetHoldsEveryCellInItsPlace) {
  const Picture cell = MadePicture(8, 8);
  const Picture sheet = MakeSheet({{cell, cell, cell}, {cell}});
  EXPECT_EQ(sheet.width, 3 * 8 + 4 * 6);
  EXPECT_EQ(sheet.height, 2 * 8 + 3 * 6);
  const auto pixel = [&](std::int64_t x, std::int64_t y) { return sheet.pixels[3 * (y * sheet.width + x)]; };
  EXPECT_EQ(pixel(6 + 14 + 3, 6 + 2), cell.pixels[3 * (2 * 8 + 3)]);
  EXPECT_EQ(pixel(0, 0), 96);
  EXPECT_THROW(MakeSheet({}), Error);
}

TEST(Picture, AColumnOfASheetIsAsWideAsItsWidestCell) {
  const Picture wide = MadePicture(24, 8), cell = MadePicture(8, 8);
  const Picture sheet = MakeSheet({{cell, cell}, {wide, cell, cell}});
  EXPECT_EQ(sheet.width, 24 + 2 * 8 + 4 * 6);
  EXPECT_EQ(sheet.height, 2 * 8 + 3 * 6);
  const auto pixel = [&](std::int64_t x, std::int64_t y) { return sheet.pixels[3 * (y * sheet.width + x)]; };
  for (const std::int64_t top : {6, 6 + 14}) {
    EXPECT_EQ(pixel(6 + 24 + 6 + 3, top + 2), cell.pixels[3 * (2 * 8 + 3)]) << "the second column";
  }
  EXPECT_EQ(pixel(6 + 20, 6 + 14 + 5), wide.pixels[3 * (5 * 24 + 20)]);
}

}  // namespace
}  // namespace medley
