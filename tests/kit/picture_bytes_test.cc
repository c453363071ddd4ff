#include <medley/task/drivers/picture_bytes.h>

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include <medley/report/picture.h>

#include "tests/report/made_picture.h"
#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

std::int64_t Dark(const PictureColumn& column, std::int64_t row) {
  return column.tensor()[row].eq(0).sum().item<std::int64_t>();
}

TEST(PictureBytes, AreWhiteAtFirstAndRowsApart) {
  const PictureColumn column(3, 16);
  EXPECT_TRUE(column.tensor().eq(255).all().item<bool>());
  column[1].Fill({1, 2, 3});
  for (const std::int64_t other : {0, 2}) EXPECT_TRUE(column.tensor()[other].eq(255).all().item<bool>());
  for (std::int64_t plane = 0; plane < 3; ++plane)
    EXPECT_TRUE(column.tensor()[1][plane].eq(plane + 1).all().item<bool>());
}

TEST(PictureBytes, WhatLiesOutsideIsNotDrawn) {
  const PictureColumn column(3, 16);
  column[1].Box(-5, -5, 7, 7, kBlack);
  EXPECT_EQ(Dark(column, 1), 3 * 2 * 2);
  column[1].Fill(kWhite);
  column[1].Disc(16, 16, 100, kBlack);
  EXPECT_EQ(Dark(column, 1), 3 * 16 * 16);
  EXPECT_EQ(Dark(column, 0) + Dark(column, 2), 0);
}

TEST(PictureBytes, ADiscHasItsAreaAndMiddle) {
  const PictureColumn column(1, 64);
  column[0].Disc(20, 40, 10, {0, 200, 200});
  const at::Tensor red = column.tensor()[0][0].eq(0);
  EXPECT_NEAR(red.sum().item<double>(), M_PI * 100, 8);
  EXPECT_EQ(column[0].At(20, 40).green, 200);
  EXPECT_EQ(column[0].At(20, 51).red, 255);
  const at::Tensor where = red.nonzero().to(at::kDouble).add(0.5).mean(0);
  EXPECT_NEAR(where[0].item<double>(), 20, 1e-9);
  EXPECT_NEAR(where[1].item<double>(), 40, 1e-9);
}

// Larger, smaller, of other sides, and as large as it is.
TEST(PictureBytes, AFileBecomesTheMeansOfWhatFallsIntoAPixel) {
  const ScratchDirectory scratch;
  for (const auto& [width, height] : {std::pair(37, 50), {16, 16}, {5, 3}, {64, 8}}) {
    const Picture picture = MadePicture(width, height);
    WriteText(scratch / "a.png", EncodePng(picture));
    const PictureColumn column(2, 16);
    column[1].Load(scratch / "a.png");
    std::vector<std::uint8_t> planes = picture.ToPlanes();
    const at::Tensor whole = at::from_blob(planes.data(), {3, height, width}, at::kByte).to(at::kFloat);
    const at::Tensor means = at::adaptive_avg_pool2d(whole, {16, 16}).add(0.5).floor();
    EXPECT_TRUE(column.tensor()[1].eq(means).all().item<bool>()) << width;
    EXPECT_TRUE(column.tensor()[0].eq(255).all().item<bool>());
  }
}

}  // namespace
}  // namespace medley
