#include <medley/base/error.h>
#include <medley/report/label.h>
#include <medley/report/sheet.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/report/made_picture.h"

namespace medley {
namespace {

constexpr std::int64_t kGap = 6, kNumber = 6, kLine = 10;  // a digit is 6 pixels wide, text 10 high

// Whether the picture stands there.
bool Stands(const Picture& picture, const Picture& sheet, std::int64_t left, std::int64_t top) {
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const auto begin = picture.pixels.begin() + 3 * y * picture.width;
    if (!std::equal(begin, begin + 3 * picture.width,
                    sheet.pixels.begin() + 3 * ((top + y) * sheet.width + left)))
      return false;
  }
  return true;
}

TEST(Sheet, HoldsEveryCellInItsPlaceBehindTheNumberOfItsRow) {
  const Picture cell = MadePicture(8, 12), other = MadePicture(5, 12);
  const Picture sheet = MakeSheet({{cell, other, cell}, {cell}}, {});
  EXPECT_EQ(sheet.width, kNumber + 8 + 5 + 8 + 5 * kGap);
  EXPECT_EQ(sheet.height, 2 * 12 + 3 * kGap);
  const std::int64_t left = kNumber + 2 * kGap;
  for (const std::int64_t row : {0, 1}) {
    const std::int64_t top = kGap + row * (12 + kGap);
    EXPECT_TRUE(Stands(cell, sheet, left, top)) << row;
    EXPECT_TRUE(Stands(MakeLabel(std::to_string(row + 1)), sheet, kGap, top)) << row;
  }
  EXPECT_TRUE(Stands(other, sheet, left + 8 + kGap, kGap));
  EXPECT_TRUE(Stands(cell, sheet, left + 8 + 5 + 2 * kGap, kGap));
  EXPECT_TRUE(Stands(Picture(8, 12, kSheetGround), sheet, left + 8 + 5 + 2 * kGap, 12 + 2 * kGap));
}

TEST(Sheet, AColumnIsAsWideAsItsWidestCellOrItsHeading) {
  const Picture wide = MadePicture(70, 12), cell = MadePicture(8, 12);
  const Picture sheet = MakeSheet({{cell, cell}, {wide, cell}}, {"seen", "target"});
  const Picture heading = MakeLabel("target");
  EXPECT_EQ(heading.width, 6 * 8 - 2);
  EXPECT_EQ(sheet.width, kNumber + 70 + heading.width + 4 * kGap);
  EXPECT_EQ(sheet.height, kLine + 2 * 12 + 4 * kGap);
  const std::int64_t left = kNumber + 2 * kGap, second = left + 70 + kGap;
  EXPECT_TRUE(Stands(MakeLabel("seen"), sheet, left, kGap));
  EXPECT_TRUE(Stands(heading, sheet, second, kGap));
  EXPECT_TRUE(Stands(cell, sheet, second, kLine + 2 * kGap));
  EXPECT_TRUE(Stands(wide, sheet, left, kLine + 12 + 3 * kGap));
}

TEST(Sheet, NeedsAPicture) {
  EXPECT_THROW(MakeSheet({}, {}), Error);
  EXPECT_THROW(MakeSheet({{}, {Picture()}}, {"seen"}), Error);
}

TEST(Label, EveryLetterDigitAndSignIsAnother) {
  std::set<std::vector<std::uint8_t>> seen;
  const std::string all = "abcdefghijklmnopqrstuvwxyz0123456789_-./% ";
  for (const char c : all) seen.insert(MakeLabel(std::string(1, c)).pixels);
  EXPECT_EQ(seen.size(), all.size());
  EXPECT_EQ(MakeLabel("Target").pixels, MakeLabel("TARGET").pixels);
  EXPECT_EQ(MakeLabel("\xc3\xb6").pixels, MakeLabel("  ").pixels) << "what it cannot write is blank";
}

}  // namespace
}  // namespace medley
