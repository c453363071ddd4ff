#include <gtest/gtest.h>

#include <cmath>

#include <medley/model/agent/vision.h>
#include <medley/model/blocks/attention.h>
#include <medley/model/blocks/operators.h>

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
  const RopeTables turns = RopeTurns({tables.cos.slice(0, 7, 12), tables.sin.slice(0, 7, 12)}, /*heads=*/1);
  const at::Tensor y = HeadNormRope(x, weight, turns, 0).select(0, 0).select(0, 0);
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
  const at::Tensor patches = ToPatches(image, patch);
  ASSERT_EQ(patches.sizes(), (at::IntArrayRef{2, grid * grid, 3 * patch * patch}));
  const at::Tensor one = patches[1][1 * grid + 2].view({3, patch, patch});  // second row, third column
  EXPECT_TRUE(at::allclose(one, image[1].narrow(1, patch, patch).narrow(2, 2 * patch, patch)));
  EXPECT_TRUE(at::allclose(FromPatches(patches, grid * patch, patch), image));
}

TEST(Operators, PatchesAreEmbeddedAsAConvolutionOfTheScaledImageDoes) {
  const std::int64_t patch = 4, grid = 3, width = 5;
  const at::Tensor image = at::rand({2, 3, grid * patch, grid * patch}, at::kDouble);
  const at::Tensor weight = at::randn({width, 3, patch, patch}, at::kDouble);
  const at::Tensor bias = at::randn({width}, at::kDouble);
  const at::Tensor positions = at::randn({grid * grid, width}, at::kDouble);
  const at::Tensor expected = at::conv2d((image - 0.7) * 3, weight, bias, /*stride=*/patch);
  EXPECT_TRUE(at::allclose(EmbedPatches(image, weight, bias, positions, 0.7, 3),
                           expected.flatten(2).transpose(1, 2) + positions));
}

TEST(Operators, CellsAreEmbeddedAsTwoConvolutionsDo) {
  const std::int64_t cell = 2, cells = 3, grid = 2, channels = 7, width = 5;
  const at::Tensor image = at::rand({2, 3, grid * cells * cell, grid * cells * cell}, at::kDouble);
  const StemWeights stem{.weight = at::randn({channels, 3, cell, cell}, at::kDouble),
                         .bias = at::randn({channels}, at::kDouble)};
  const at::Tensor weight = at::randn({width, channels, cells, cells}, at::kDouble);
  const at::Tensor bias = at::randn({width}, at::kDouble);
  const at::Tensor positions = at::randn({grid * grid, width}, at::kDouble);
  const at::Tensor seen = at::gelu(at::conv2d((image - 0.7) * 3, stem.weight, stem.bias, /*stride=*/cell));
  const at::Tensor expected = at::conv2d(seen, weight, bias, /*stride=*/cells);
  EXPECT_TRUE(at::allclose(EmbedCells(image, stem, weight, bias, positions, 0.7, 3),
                           expected.flatten(2).transpose(1, 2) + positions));
}

TEST(Operators, IdsArePaddedPastTheKernelThatLosesSums) {
  for (const std::int64_t right : {1, 1024, 4097, 100000}) EXPECT_EQ(PaddedIds(right), right);
  for (const std::int64_t wrong : {1025, 3072, 4096}) EXPECT_EQ(PaddedIds(wrong), 4097);
  EXPECT_EQ(PaddedIds(1025) - 1025, kMostPaddedIds);
}

TEST(Operators, APaddedLookupHasTheSameValuesAndGradient) {
  const at::Tensor ids = at::arange(40 * 30).remainder(17).view({40, 30});
  at::Tensor plain = at::randn({17, 6}), padded = plain.clone();
  plain.set_requires_grad(true), padded.set_requires_grad(true);
  const at::Tensor weight = at::randn({40, 30, 6});
  const at::Tensor a = at::embedding(plain, ids), b = PaddedEmbedding(padded, ids);
  EXPECT_TRUE(at::equal(a, b));
  a.mul(weight).sum().backward();
  b.mul(weight).sum().backward();
  EXPECT_TRUE(at::equal(plain.grad(), padded.grad()));
  EXPECT_EQ(b.storage().nbytes(), 4097U * 6 * sizeof(float)) << "1,200 ids were to be padded";
}

// On the CPU libtorch shares keys among queries itself; some of a GPU's kernels get copies.
TEST(Operators, RepeatedHeadsAttendAsSharedOnesDo) {
  const at::Tensor q = at::randn({2, 6, 5, 4}, at::kDouble), k = at::randn({2, 2, 7, 4}, at::kDouble),
                   v = at::randn({2, 2, 7, 4}, at::kDouble);
  const at::Tensor shared =
      at::scaled_dot_product_attention(q, k, v, {}, 0.0, false, std::nullopt, /*enable_gqa=*/true);
  const at::Tensor repeated =
      at::scaled_dot_product_attention(q, RepeatHeads(k, 3), RepeatHeads(v, 3), {}, 0.0, false);
  EXPECT_TRUE(at::allclose(shared, repeated, 1e-12, 1e-12));
  EXPECT_TRUE(RepeatHeads(k, 3).is_contiguous()) << "a copy: the kernel takes no expanded heads";
}

}  // namespace
}  // namespace medley
