#include <gtest/gtest.h>

#include <cmath>

#include <medley/model/agent/operators.h>

namespace medley {
namespace {

TEST(Operators, RmsNormDividesByTheRootMeanSquare) {
  const at::Tensor x = at::randn({3, 5, 7}, at::kDouble), weight = at::randn({7}, at::kDouble);
  const at::Tensor y = RmsNorm(x, weight, 1e-3);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      double squares = 0;
      for (std::int64_t k = 0; k < 7; ++k) squares += std::pow(x[i][j][k].item<double>(), 2);
      const double rms = std::sqrt(squares / 7 + 1e-3);
      for (std::int64_t k = 0; k < 7; ++k) {
        EXPECT_NEAR(y[i][j][k].item<double>(), x[i][j][k].item<double>() / rms * weight[k].item<double>(),
                    1e-13);
      }
    }
  }
}

TEST(Operators, RmsNormOfHalfTypesTakesItsStatisticsInFloat) {
  const at::Tensor x = at::randn({4, 512}) * 300, weight = at::ones({512});
  const at::Tensor exact = RmsNorm(x.to(at::kBFloat16).to(at::kFloat), weight, 1e-6);
  const at::Tensor half = RmsNorm(x.to(at::kBFloat16), weight.to(at::kBFloat16), 1e-6);
  EXPECT_EQ(half.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(half, exact.to(at::kBFloat16)));
}

// Rotations by hand: pairs (i, i + d/2) turn by position / base^(2i/d).
TEST(Operators, RopeTurnsPairsOfHalves) {
  const std::int64_t dim = 4;
  const at::Tensor x = at::randn({1, 5, dim}, at::kDouble), weight = at::ones({dim}, at::kDouble);
  const RopeTables tables = MakeRopeTables(20, dim, 100, x.options());
  const at::Tensor y = HeadNormRope(x, weight, tables, 7, 0).select(0, 0).select(0, 0);
  for (std::int64_t t = 0; t < 5; ++t) {
    const at::Tensor n = x[0][t] / x[0][t].square().mean().sqrt();
    for (std::int64_t i = 0; i < dim / 2; ++i) {
      const double angle = static_cast<double>(7 + t) * std::pow(100.0, -2.0 * static_cast<double>(i) / dim);
      const double a = n[i].item<double>(), b = n[i + dim / 2].item<double>();
      EXPECT_NEAR(y[t][i].item<double>(), a * std::cos(angle) - b * std::sin(angle), 1e-12);
      EXPECT_NEAR(y[t][i + dim / 2].item<double>(), b * std::cos(angle) + a * std::sin(angle), 1e-12);
    }
  }
}

TEST(Operators, PatchesAreCutRowByRowAndPutTogetherAgain) {
  const std::int64_t patch = 4, grid = 3;
  const at::Tensor image = at::randn({2, 3, grid * patch, grid * patch}, at::kDouble);
  const at::Tensor patches = ToPatches(image, patch, 3, -2);
  ASSERT_EQ(patches.sizes(), (at::IntArrayRef{2, grid * grid, 3 * patch * patch}));
  const at::Tensor one = patches[1][1 * grid + 2].view({3, patch, patch});  // second row, third column
  EXPECT_TRUE(at::allclose(one, image[1].narrow(1, patch, patch).narrow(2, 2 * patch, patch) * 3 - 2));
  EXPECT_TRUE(at::allclose(FromPatches(patches, grid * patch, patch, 1.0 / 3, 2.0 / 3), image));
}

}  // namespace
}  // namespace medley
