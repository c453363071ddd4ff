// Pictures of tests/fuzz/corpus, 18 x 10: a red, a green, a blue and a white quarter, written by Pillow.
#include <medley/data/picture_file.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/files.h>
#include <medley/data/exif.h>

#include "data_files.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Pixel = std::array<int, 3>;

const fs::path kPictures = MEDLEY_SOURCE_DIR "/tests/fuzz/corpus";

class PictureFile : public DataFiles {};

Pixel At(const Picture& picture, std::int64_t x, std::int64_t y) {
  const std::uint8_t* pixel = &picture.pixels[3 * (y * picture.width + x)];
  return {pixel[0], pixel[1], pixel[2]};
}

// The middles of the quarters by their colours, A red, B green, C blue, D white: upper left, upper right,
// lower left, lower right.
std::string Letters(const Picture& picture) {
  std::string letters;
  for (const std::int64_t y : {picture.height / 4, picture.height * 3 / 4}) {
    for (const std::int64_t x : {picture.width / 4, picture.width * 3 / 4}) {
      const auto [red, green, blue] = At(picture, x, y);
      letters += red > 128 && green > 128 ? 'D' : red > 128 ? 'A' : green > 128 ? 'B' : 'C';
    }
  }
  return letters;
}

// A JPEG's segment with nothing but the orientation in it.
std::string ExifSegment(int orientation, bool is_big_endian, char type = 3) {
  const char value = static_cast<char>(orientation);
  std::string tiff = is_big_endian
                         ? std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0T\0\0\0\x01\0V\0\0\0\0\0\0", 26)
                         : std::string("II*\0\x08\0\0\0\x01\0\x12\x01T\0\x01\0\0\0V\0\0\0\0\0\0\0", 26);
  tiff[tiff.find('T')] = type;
  if (type == 4 && is_big_endian) std::swap(tiff[tiff.find('V')], tiff[tiff.find('V') + 2]);
  tiff[tiff.find('V')] = value;
  return std::string(
             "\xff\xe1\0\x22"
             "Exif\0\0",
             10) +
         tiff;
}

TEST_F(PictureFile, AJpegIsAsPillowHasIt) {
  const Picture rgb = ReadPicture(kPictures / "jpeg/rgb.jpg");
  EXPECT_EQ(std::pair(rgb.width, rgb.height), std::pair(std::int64_t{18}, std::int64_t{10}));
  EXPECT_EQ(At(rgb, 1, 1), (Pixel{222, 29, 34}));
  EXPECT_EQ(At(rgb, 16, 8), (Pixel{229, 231, 228}));
  EXPECT_EQ(At(ReadPicture(kPictures / "jpeg/progressive.jpg"), 16, 1), (Pixel{28, 199, 23}));
  EXPECT_EQ(At(ReadPicture(kPictures / "jpeg/grey.jpg"), 1, 8), (Pixel{52, 52, 52}));
}

TEST_F(PictureFile, WhatItIsIsSaidByItsBytesAndNotByItsName) {
  const std::string png = ReadFile(kPictures / "png/rgb.png");
  EXPECT_EQ(ReadPicture(Write("a.jpg", png)).pixels, DecodePng(png, "").pixels);
  EXPECT_EQ(Refusal([&] { ReadPicture(Write("b.png", "GIF89a")); }),
            "b.png is no picture that medley reads: it does not begin as a PNG or a JPEG does");
  EXPECT_NE(Refusal([&] { ReadPicture(folder_ / "missing.png"); }).find("missing.png"), std::string::npos);
}

// Each as the EXIF standard says where row 0 and column 0 lie, and as Pillow's exif_transpose has it.
TEST_F(PictureFile, IsTurnedAsItsExifDataSay) {
  const std::string jpeg = ReadFile(kPictures / "jpeg/rgb.jpg");
  const std::map<int, std::string> upright = {{0, "ABCD"}, {1, "ABCD"}, {2, "BADC"}, {3, "DCBA"},
                                              {4, "CDAB"}, {5, "ACBD"}, {6, "CADB"}, {7, "DBCA"},
                                              {8, "BDAC"}, {9, "ABCD"}};
  for (const auto& [orientation, letters] : upright) {
    for (const bool is_big_endian : {false, true}) {
      for (const char type : {3, 4}) {
        std::string turned = jpeg;
        turned.insert(2, ExifSegment(orientation, is_big_endian, type));
        const Picture picture = DecodePicture(turned, "");
        EXPECT_EQ(Letters(picture), letters) << orientation << ' ' << is_big_endian << ' ' << int(type);
        EXPECT_EQ(picture.width, orientation >= 5 && orientation <= 8 ? 10 : 18) << orientation;
      }
    }
  }
  EXPECT_EQ(Letters(ReadPicture(kPictures / "jpeg/turned.jpg")), "CADB");
  EXPECT_EQ(Letters(ReadPicture(kPictures / "png/turned.png")), "BDAC");
}

TEST_F(PictureFile, EachPixelOfATurnedPictureIsOneOfIts) {
  Picture stored(3, 2);
  for (std::size_t i = 0; i < stored.pixels.size(); ++i) stored.pixels[i] = static_cast<std::uint8_t>(i);
  // A quarter turn to the right, so that the first column, from below, is the first row.
  EXPECT_EQ(Upright(stored, 6).pixels,
            (std::vector<std::uint8_t>{9, 10, 11, 0, 1, 2, 12, 13, 14, 3, 4, 5, 15, 16, 17, 6, 7, 8}));
}

TEST_F(PictureFile, AKindThatIsNotReadIsNamed) {
  EXPECT_NE(Refusal([&] {
              ReadPicture(kPictures / "jpeg/cmyk.jpg");
            }).find("cmyk.jpg cannot be read as a JPEG picture: its colours are CMYK"),
            std::string::npos);
  const std::string jpeg = ReadFile(kPictures / "jpeg/rgb.jpg");
  const std::size_t frame = jpeg.find("\xff\xc0");
  const auto with = [&](std::size_t at, char byte) {
    std::string other = jpeg;
    other[frame + at] = byte;
    return Refusal([&] { DecodePicture(other, "a.jpg"); });
  };
  EXPECT_EQ(with(1, '\xc3'),
            "a.jpg cannot be read as a JPEG picture: Unsupported JPEG process: SOF type 0xc3");
  EXPECT_EQ(with(4, 12), "a.jpg cannot be read as a JPEG picture: Unsupported JPEG data precision 12");
  EXPECT_EQ(with(5, 0x21), "a.jpg cannot be read as a JPEG picture: larger than 8192 pixels a side");
}

// Libpng alone would take as much memory.
TEST_F(PictureFile, AChunkThatIsLongerThanItsFileIsRefused) {
  std::string png = ReadFile(kPictures / "png/turned.png");
  png[png.find("eXIf") - 4] = 0x70;
  EXPECT_EQ(Refusal([&] { DecodePicture(png, "a.png"); }),
            "a.png cannot be read as a PNG picture: it ends early");
}

// Libjpeg alone would make the rest of the picture grey.
TEST_F(PictureFile, OneThatEndsEarlyIsRefusedWhereverThatIs) {
  for (const char* folder : {"jpeg", "png"}) {
    for (const auto& entry : fs::directory_iterator(kPictures / folder)) {
      const std::string whole = ReadFile(entry.path());
      for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_THROW(DecodePicture(whole.substr(0, size), ""), InputError) << entry.path() << ' ' << size;
      }
    }
  }
}

TEST_F(PictureFile, AByteThatIsAnotherIsAnotherPictureOrRefusedByName) {
  for (const char* folder : {"jpeg", "png"}) {
    for (const auto& entry : fs::directory_iterator(kPictures / folder)) {
      std::string bytes = ReadFile(entry.path());
      for (char& byte : bytes) {
        byte = static_cast<char>(~byte);
        const std::string refusal = Refusal([&] { DecodePicture(bytes, "the file"); });
        EXPECT_TRUE(refusal.empty() || refusal.starts_with("the file ")) << refusal;
        byte = static_cast<char>(~byte);
      }
    }
  }
}

// Each is a pass over all of the picture. Three components, whose scans are that of the grey picture.
TEST_F(PictureFile, AJpegOfEndlessScansIsRefused) {
  const std::string grey = ReadFile(kPictures / "jpeg/grey.jpg");
  const std::size_t frame = grey.find("\xff\xc0"), scan = grey.find("\xff\xda");
  const std::string values = grey.substr(scan + 10, grey.size() - 2 - scan - 10);
  std::string jpeg = grey.substr(0, frame) + std::string("\xff\xc0\0\x11", 4) + grey.substr(frame + 4, 5) +
                     std::string("\3\1\x11\0\2\x11\0\3\x11\0", 10) +
                     grey.substr(frame + 13, scan - frame - 13);
  for (int i = 0; i <= 100; ++i) {
    jpeg += std::string("\xff\xda\0\x08\1", 5) + static_cast<char>(1 + i % 3) + std::string("\0\0\x3f\0", 4) +
            values;
    if (i == 2) {
      EXPECT_EQ(DecodePicture(jpeg + "\xff\xd9", "").width, 18);
    }
  }
  EXPECT_EQ(Refusal([&] { DecodePicture(jpeg + "\xff\xd9", "a.jpg"); }),
            "a.jpg cannot be read as a JPEG picture: more than 100 scans");
}

}  // namespace
}  // namespace medley
