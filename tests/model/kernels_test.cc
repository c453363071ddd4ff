#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>

#include <medley/model/kernels/ops.h>

namespace medley {
namespace {

// The outputs of fn and the gradients of a random projection of them.
template <typename Fn>
std::vector<at::Tensor> ValuesAndGradients(const std::vector<at::Tensor>& inputs, const Fn& fn) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().clone().set_requires_grad(true));
  const at::Tensor y = fn(leaves);
  at::Generator generator = at::detail::createCPUGenerator(99);
  torch::autograd::backward({y}, {at::randn(y.sizes(), generator, y.options())});
  std::vector<at::Tensor> all = {y.detach()};
  for (const at::Tensor& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

// The loops against the chains, in double and float, at sizes that fill vectors and that do not, on one
// thread's work and on several's.
template <typename Fast, typename Slow>
void ExpectEqual(const std::vector<std::vector<std::int64_t>>& shapes, const Fast& fast, const Slow& slow) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    std::vector<at::Tensor> inputs;
    at::Generator generator = at::detail::createCPUGenerator(1);
    for (const auto& shape : shapes) inputs.push_back(at::randn(shape, generator, at::dtype(type)));
    const std::vector<at::Tensor> a = ValuesAndGradients(inputs, fast), b = ValuesAndGradients(inputs, slow);
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_LT((a[i] - b[i]).norm().item<double>(),
                (type == at::kDouble ? 1e-13 : 1e-5) * (1 + b[i].norm().item<double>()))
          << i << " of " << shapes.front();
    }
  }
}

using Tensors = std::vector<at::Tensor>;

TEST(Kernels, RmsNormEqualsItsChain) {
  for (const std::int64_t dim : {1, 6, 16, 64, 67}) {
    ExpectEqual(
        {{300, 3, dim}, {dim}}, [](const Tensors& t) { return RmsNorm(t[0], t[1], 1e-6); },
        [](const Tensors& t) { return composite::RmsNorm(t[0], t[1], 1e-6); });
  }
}

TEST(Kernels, HeadNormRopeEqualsItsChain) {
  for (const std::int64_t dim : {2, 6, 16, 128}) {
    const auto tables = [&](const at::Tensor& x) {
      return MakeRopeTables(40, dim, 1e4, x.options().requires_grad(false));
    };
    ExpectEqual(
        {{5, 11, 4 * dim}, {dim}},
        [&](const Tensors& t) { return HeadNormRope(t[0], t[1], tables(t[0]), 9, 1e-6); },
        [&](const Tensors& t) { return composite::HeadNormRope(t[0], t[1], tables(t[0]), 9, 1e-6); });
  }
}

TEST(Kernels, SwiGluEqualsItsChainAlsoWhereSigmoidSaturates) {
  ExpectEqual(
      {{977, 31}, {977, 31}}, [](const Tensors& t) { return SwiGlu(t[0] * 40, t[1]); },
      [](const Tensors& t) { return composite::SwiGlu(t[0] * 40, t[1]); });
  const at::Tensor extreme = at::tensor({-1e30, -200., -88., 0., 88., 200., 1e30}, at::kFloat);
  EXPECT_TRUE(at::allclose(SwiGlu(extreme, at::ones({7})), at::silu(extreme)));
}

TEST(Kernels, PatchesEqualTheirChain) {
  for (const std::int64_t patch : {1, 4, 14}) {
    const std::int64_t size = 3 * patch;
    ExpectEqual(
        {{2, 3, size, size}}, [&](const Tensors& t) { return ToPatches(t[0], patch, 3, -2); },
        [&](const Tensors& t) { return composite::ToPatches(t[0], patch, 3, -2); });
    ExpectEqual(
        {{2, 9, 3 * patch * patch}}, [&](const Tensors& t) { return FromPatches(t[0], size, patch, 0.5, 1); },
        [&](const Tensors& t) { return composite::FromPatches(t[0], size, patch, 0.5, 1); });
  }
}

TEST(Kernels, ProjectEqualsLinear) {
  ExpectEqual(
      {{4, 7, 10}, {6, 10}}, [](const Tensors& t) { return Project(t[0], t[1]); },
      [](const Tensors& t) { return at::linear(t[0], t[1]); });
  ExpectEqual(
      {{4, 7, 10}, {6, 10}, {3, 10}},
      [](const Tensors& t) {
        const auto [a, b] = Project(t[0], t[1], t[2]);
        return at::cat({a, b}, -1);
      },
      [](const Tensors& t) {
        return at::cat({at::linear(t[0], t[1]), at::linear(t[0], t[2])}, -1);
      });
}

TEST(Kernels, AFrozenWeightGetsNoGradient) {
  const at::Tensor x = at::randn({3, 4}).set_requires_grad(true), frozen = at::randn({2, 4});
  at::Tensor trained = at::randn({2, 4}).set_requires_grad(true);
  const auto [a, b] = Project(x, frozen, trained);
  torch::autograd::backward({(a + b).sum()}, {});
  EXPECT_FALSE(frozen.grad().defined());
  EXPECT_TRUE(at::allclose(x.grad(), (frozen + trained).sum(0).expand({3, 4})));
  EXPECT_TRUE(trained.grad().defined());
}

// Rotations by hand: pairs (i, i + d/2) turn by position / base^(2i/d).
TEST(Kernels, RopeTurnsPairsOfHalves) {
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

}  // namespace
}  // namespace medley
