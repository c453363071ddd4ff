#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/task/drawings.h>

#include <limits>

namespace medley {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// [rows, height, width]: where something is drawn.
at::Tensor Drawn(const at::Tensor& pictures) { return pictures.ne(255).any(1); }

TEST(Drawings, ARisingLineGoesFromTheLowerLeftToTheUpperRight) {
  const at::Tensor rising = at::arange(10).view({1, 10, 1});
  const at::Tensor drawn = Drawn(DrawLines(rising, {}, {.height = 10, .width = 10}));
  EXPECT_TRUE(drawn[0].equal(at::eye(10, at::kBool).flip(0)));
}

TEST(Drawings, LinesHaveColoursOfTheirOwnAndOneRangeForAllRows) {
  const at::Tensor two = at::stack({at::zeros({2, 4}), at::ones({2, 4})}, 2);
  const at::Tensor pictures = DrawLines(two, {}, {.height = 5, .width = 8});
  EXPECT_FALSE(pictures.select(2, 0).equal(pictures.select(2, 4)));
  EXPECT_EQ(Drawn(pictures).sum().item<std::int64_t>(), 2 * 2 * 8);
}

TEST(Drawings, WhatIsNotFiniteIsAGapAndWhatIsPaddedIsNotDrawn) {
  at::Tensor series = at::zeros({2, 5, 1}, at::kDouble);
  series[0][2][0] = kNan;
  const at::Tensor lengths = at::tensor({5, 3}, at::kLong);
  const at::Tensor drawn = Drawn(DrawLines(series, lengths, {.height = 3, .width = 5})).any(1);
  EXPECT_TRUE(drawn[0].equal(at::tensor({1, 1, 0, 1, 1}).to(at::kBool)));
  EXPECT_TRUE(drawn[1].equal(at::tensor({1, 1, 1, 0, 0}).to(at::kBool)));
  EXPECT_FALSE(Drawn(DrawLines(at::full({1, 4, 2}, kNan))).any().item<bool>());
}

TEST(Drawings, ValuesBeyondTheNamedRangeStayInThePicture) {
  const at::Tensor drawn = Drawn(
      DrawLines(at::tensor({-5.0, 9.0}).view({1, 2, 1}), {}, {.height = 4, .width = 2, .low = 0, .high = 1}));
  EXPECT_TRUE(drawn[0][3][0].item<bool>() && drawn[0][0][1].item<bool>());
}

TEST(Drawings, ASliceIsGreyAndTheMiddleOneWhereNoneIsNamed) {
  const at::Tensor volume = at::arange(24).view({1, 2, 3, 4});
  const at::Tensor picture = DrawSlice(volume);
  EXPECT_EQ(picture.sizes(), (at::IntArrayRef{1, 3, 3, 4}));
  EXPECT_EQ(picture[0][1][2][3].item<int>(), 255);
  EXPECT_EQ(DrawSlice(volume, 0)[0][0][0][0].item<int>(), 0);
  EXPECT_TRUE(DrawSlice(volume.unsqueeze(1)).equal(picture));
  EXPECT_THROW(DrawSlice(volume, 2), Error);
  EXPECT_THROW(DrawSlice(at::zeros({3, 3})), Error);
  EXPECT_THROW(DrawLines(at::zeros({3, 3})), Error);
}

TEST(Drawings, AColumnIsDrawnByWhatItLooksLike) {
  Batch batch(RowRange{.count = 2});
  const at::Tensor pictures = at::full({2, 3, 8, 6}, 7, at::kByte), series = at::arange(24.0).view({2, 6, 2});
  EXPECT_TRUE(DrawColumn(batch, pictures).equal(pictures));
  EXPECT_TRUE(DrawColumn(batch, series).equal(DrawLines(series)));
  EXPECT_TRUE(DrawColumn(batch, at::arange(48.0).view({2, 2, 3, 4}))
                  .equal(DrawSlice(at::arange(48.0).view({2, 2, 3, 4}))));
  EXPECT_FALSE(DrawColumn(batch, at::arange(2)).defined());
  const at::Tensor lengths = at::tensor({6, 3});
  batch.Add("lengths", lengths);
  EXPECT_TRUE(DrawColumn(batch, series).equal(DrawLines(series, lengths)));
  EXPECT_FALSE(DrawColumn(batch, series).equal(DrawLines(series)));
}

}  // namespace
}  // namespace medley
