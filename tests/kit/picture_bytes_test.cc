#include <medley/task/drivers/picture_bytes.h>

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace medley
