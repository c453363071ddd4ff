#include <gtest/gtest.h>

#include <medley/task/losses.h>

namespace medley {
namespace {

struct Pictures {
  at::Tensor output, target, input;
};

// Three rows; the last one's target equals its input.
Pictures MakePictures(at::ScalarType dtype) {
  at::manual_seed(3);
  const auto options = at::TensorOptions(dtype);
  Pictures p{at::rand({3, 3, 8, 8}, options), at::rand({3, 3, 8, 8}, options), {}};
  p.input = p.target.clone();
  p.input[0].narrow(1, 2, 3).fill_(0.5);
  p.input[1][2][4][5] = 2;  // one channel of one pixel
  return p;
}

TEST(PictureErrors, ShareTheWeightBetweenAllAndTheRegion) {
  const Pictures p = MakePictures(at::kDouble);
  const at::Tensor squares = (p.output - p.target).square();
  for (const double share : {0.0, 0.3, 0.99, 1.0}) {
    const at::Tensor errors = PictureErrors(p.output, p.target, p.input, share);
    const double region0 = squares[0].narrow(1, 2, 3).mean().item<double>();
    const double region1 = squares[1].select(1, 4).select(1, 5).mean().item<double>();
    EXPECT_NEAR(errors[0].item<double>(), (1 - share) * squares[0].mean().item<double>() + share * region0,
                1e-12);
    EXPECT_NEAR(errors[1].item<double>(), (1 - share) * squares[1].mean().item<double>() + share * region1,
                1e-12);
    EXPECT_NEAR(errors[2].item<double>(), squares[2].mean().item<double>(), 1e-12) << "no region: all pixels";
    EXPECT_NEAR(SumPictureError(p.output, p.target, p.input, share).item<double>(),
                errors.sum().item<double>(), 1e-12);
  }
}

TEST(PictureErrors, ARegionMayWeighItsPixels) {
  const Pictures p = MakePictures(at::kDouble);
  const at::Tensor squares = (p.output - p.target).square();
  at::Tensor weights = at::zeros({3, 1, 8, 8}, at::kDouble);
  weights[0][0][1][2] = 0.25;
  weights[0][0][3][4] = 0.5;
  weights[1].fill_(7);
  const at::Tensor errors = RegionErrors(p.output, p.target, weights, 0.3);
  const auto pixel = [&](int row, int column) {
    return squares[0].select(1, row).select(1, column).mean().item<double>();
  };
  EXPECT_NEAR(errors[0].item<double>(),
              0.7 * squares[0].mean().item<double>() + 0.3 * (pixel(1, 2) + 2 * pixel(3, 4)) / 3, 1e-12);
  for (const int row : {1, 2})
    EXPECT_NEAR(errors[row].item<double>(), squares[row].mean().item<double>(), 1e-12)
        << "all alike, or none";
}

// The way that does not look at the region, against the general one.
TEST(PictureErrors, WithoutAShareAreThePlainMeanBitForBit) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const Pictures p = MakePictures(dtype);
    const at::Tensor region = DifferentPixels(p.target, p.input);
    EXPECT_EQ(region.sum().item<int>(), 3 * 8 + 1);
    const at::Tensor plain = p.output.clone().set_requires_grad(true);
    const at::Tensor general = p.output.clone().set_requires_grad(true);
    const at::Tensor errors = PictureErrors(plain, p.target, p.input, 0);
    // So small a share changes no bit, but takes the long way.
    const at::Tensor slow = RegionErrors(general, p.target, region, 1e-300);
    EXPECT_TRUE(errors.equal(RegionErrors(p.output, p.target, {}, 0)));
    EXPECT_TRUE(errors.equal(slow));
    EXPECT_TRUE(torch::autograd::grad({errors.sum()}, {plain})[0].equal(
        torch::autograd::grad({slow.sum()}, {general})[0]));
  }
}

TEST(PictureErrors, AreTakenInFloatForSmallerTypes) {
  const Pictures p = MakePictures(at::kFloat);
  const at::Tensor sum = SumPictureError(p.output.to(at::kBFloat16), p.target, p.input, 0.5);
  EXPECT_EQ(sum.scalar_type(), at::kFloat);
  EXPECT_NEAR(sum.item<double>(), SumPictureError(p.output, p.target, p.input, 0.5).item<double>(), 0.02);
}

TEST(PictureErrors, SplitRowsAddUpAndHaveGradients) {
  const Pictures p = MakePictures(at::kDouble);
  const at::Tensor output = p.output.clone().set_requires_grad(true);
  const at::Tensor whole = SumPictureError(output, p.target, p.input, 0.5);
  at::Tensor parts = at::zeros({}, at::kDouble);
  for (std::int64_t row = 0; row < 3; ++row) {
    parts = parts + SumPictureError(output.narrow(0, row, 1), p.target.narrow(0, row, 1),
                                    p.input.narrow(0, row, 1), 0.5);
  }
  EXPECT_NEAR(whole.item<double>(), parts.item<double>(), 1e-12);
  const auto grads = torch::autograd::grad({whole - parts}, {output});
  EXPECT_LT(grads[0].abs().max().item<double>(), 1e-12);
}

TEST(CrossEntropy, AddsItsItemsUpAndTakesNone) {
  at::manual_seed(4);
  const at::Tensor logits = at::randn({5, 11});
  const at::Tensor targets = at::randint(11, {5}, at::kLong);
  const at::Tensor slow = logits.log_softmax(1).gather(1, targets.unsqueeze(1)).sum().neg();
  EXPECT_NEAR(SumCrossEntropy(logits, targets).item<double>(), slow.item<double>(), 1e-5);
  EXPECT_EQ(SumCrossEntropy(logits.to(at::kBFloat16), targets).scalar_type(), at::kFloat);
  EXPECT_EQ(SumCrossEntropy(logits.to(at::kDouble), targets).scalar_type(), at::kDouble);
  EXPECT_EQ(SumCrossEntropy(logits.narrow(0, 0, 0), targets.narrow(0, 0, 0)).item<double>(), 0);
}

TEST(Losses, OfItemsAddUpToTheBitsOfTheirCrossEntropy) {
  at::manual_seed(5);
  for (const std::int64_t items : {0, 1, 5, 64, 65, 1000}) {
    const at::Tensor targets = at::randint(11, {items}, at::kLong);
    at::Tensor one = at::randn({items, 11}).mul_(3).set_requires_grad(true),
               other = one.detach().clone().set_requires_grad(true);
    const at::Tensor at_once = SumCrossEntropy(one, targets),
                     items_first = SumLosses(at::cross_entropy_loss(other, targets, {}, at::Reduction::None));
    EXPECT_TRUE(at_once.equal(items_first)) << items;
    at_once.mul(0.7).backward(), items_first.mul(0.7).backward();
    EXPECT_TRUE(one.grad().equal(other.grad())) << items;
  }
}

}  // namespace
}  // namespace medley
