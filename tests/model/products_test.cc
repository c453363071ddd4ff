#include <gtest/gtest.h>
#include <medley/model/products.h>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <vector>

namespace medley {
namespace {

constexpr double kFp16Unit = 0x1p-11;  // half of what fp16 tells apart

double Away(const at::Tensor& found, const at::Tensor& exact) {
  const at::Tensor apart = (found.to(at::kDouble) - exact).abs();
  return (apart / (exact.abs() + exact.square().mean().sqrt())).max().item<double>();
}

// Results and gradients of fp16 inputs and of the same in double: each rounded once.
void ExpectRoundedOnce(const std::vector<at::Tensor>& given,
                       const std::function<at::Tensor(const std::vector<at::Tensor>&)>& product) {
  std::vector<at::Tensor> half, exact;
  for (const at::Tensor& x : given) {
    half.push_back(x.to(at::kHalf).requires_grad_());
    exact.push_back(half.back().detach().to(at::kDouble).requires_grad_());
  }
  const at::Tensor y = product(half), z = product(exact);
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  EXPECT_LT(Away(y, z), kFp16Unit);
  const at::Tensor gradient = at::randn_like(y);
  const auto of_half = torch::autograd::grad({y}, half, {gradient}),
             of_exact = torch::autograd::grad({z}, exact, {gradient.to(at::kDouble)});
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_LT(Away(of_half[i], of_exact[i]), kFp16Unit) << i;
}

TEST(Products, OfFp16OnTheCpuAreMadeInFloatAndRoundedOnce) {
  at::manual_seed(1);
  ExpectRoundedOnce({at::randn({3, 5, 300}), at::randn({7, 300}), at::randn({7})},
                    [](const auto& in) { return LinearProduct(in[0], in[1], in[2]); });
  ExpectRoundedOnce({at::randn({20, 300}), at::randn({7, 300})},
                    [](const auto& in) { return LinearProduct(in[0], in[1]); });
  ExpectRoundedOnce({at::randn({20, 300}), at::randn({300, 7})},
                    [](const auto& in) { return MatrixProduct(in[0], in[1]); });
  ExpectRoundedOnce({at::randn({2, 3, 9, 40}), at::randn({2, 3, 40, 11})},
                    [](const auto& in) { return MatrixProduct(in[0], in[1]); });
}

TEST(Products, AreAddedInPlaceAndWrittenWhereTheyAreAsked) {
  const at::Tensor a = at::randn({6, 50}).to(at::kHalf), b = at::randn({50, 4}).to(at::kHalf);
  const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  at::Tensor sum = at::ones({6, 4}, at::kHalf), out = at::empty({6, 4}, at::kHalf);
  AddMatrixProduct(sum, a, b, 0.5);
  EXPECT_LT(Away(sum, exact * 0.5 + 1), 3 * kFp16Unit);
  MatrixProductTo(out, a, b);
  EXPECT_LT(Away(out, exact), kFp16Unit);
}

TEST(Products, OfOtherTypesAreLibtorchs) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor x = at::randn({6, 50}).to(type), w = at::randn({4, 50}).to(type);
    EXPECT_FALSE(GoesWide(x));
    EXPECT_TRUE(LinearProduct(x, w).equal(at::linear(x, w)));
    EXPECT_TRUE(MatrixProduct(x, w.t()).equal(at::mm(x, w.t())));
  }
}

}  // namespace
}  // namespace medley
