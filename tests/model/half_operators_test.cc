// Half types beside the same chains in float, of which the values were rounded before.

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <medley/model/blocks/attention.h>
#include <medley/model/blocks/half_norm.h>
#include <medley/model/blocks/half_operators.h>
#include <medley/model/blocks/language.h>
#include <medley/model/parameter_set.h>
#include <medley/step/passes/saved_variables.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

namespace medley {
namespace {

constexpr double kUnit = 1.0 / 256;  // bf16 rounds to half of that much of a number

at::Tensor Random(at::IntArrayRef shape, std::uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed)).to(at::kBFloat16);
}

double Distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor exact = b.to(at::kDouble);
  return (a.to(at::kDouble) - exact).norm().item<double>() / exact.norm().item<double>();
}

RopeTables Turns(std::int64_t length, std::int64_t heads, std::int64_t dim) {
  const RopeTables lines = MakeRopeTables(100 + length, dim, 1e4, at::dtype(at::kFloat));
  return RopeTurns({lines.cos.slice(0, 100), lines.sin.slice(0, 100)}, heads);
}

struct Shape {
  std::int64_t rows, length, heads, dim;
};
// Lines below, at and beyond the vectors; one turn for all heads, and one for each.
const std::vector<Shape> kShapes = {
    {2, 3, 2, 6}, {3, 5, 4, 16}, {1, 7, 3, 40}, {2, 4, 2, 128}, {5, 11, 4, 64}};

TEST(HalfNorm, LinesEqualTheOperators) {
  for (const Shape& s : kShapes) {
    const at::Tensor x = Random({s.rows, s.length, s.heads, s.dim}, 1), weight = Random({s.dim}, 2),
                     gradient = Random({s.rows, s.length, s.heads, s.dim}, 3);
    for (const RopeTables& turns : {RopeTables(), Turns(s.length, s.heads, s.dim)}) {
      const NormedLines lines = NormLines(x, weight, turns, 1e-6),
                        operators = NormByOperators(x, weight, turns, 1e-6);
      EXPECT_LT(Distance(lines.scale, operators.scale), 1e-6);
      EXPECT_LT(Distance(lines.y, operators.y), kUnit / 10) << "both round once";
      const NormGradients by_lines = NormLinesBackward(gradient, x, weight, lines.scale, turns),
                          by_operators = NormBackwardByOperators(gradient, x, weight, operators.scale, turns);
      EXPECT_LT(Distance(by_lines.x, by_operators.x), kUnit / 10);
      EXPECT_LT(Distance(by_lines.weight, by_operators.weight), 1e-5) << "in float";
    }
  }
}

// The gradient of a loss through fn, of the inputs in their own type.
template <typename Fn>
std::vector<at::Tensor> Through(const Fn& fn, const std::vector<at::Tensor>& inputs, at::ScalarType type) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.to(type).clone().set_requires_grad(true));
  const at::Tensor y = fn(leaves);
  std::vector<at::Tensor> results = {y.detach()};
  const at::Tensor factors = Random(y.sizes(), 9).to(at::kFloat);
  torch::autograd::backward({(y.to(at::kFloat) * factors).sum()});
  for (const at::Tensor& leaf : leaves) results.push_back(leaf.grad());
  return results;
}

template <typename Fn>
void ExpectAsInFloat(const Fn& fn, const std::vector<at::Tensor>& inputs) {
  const auto half = Through(fn, inputs, at::kBFloat16), exact = Through(fn, inputs, at::kFloat);
  for (std::size_t i = 0; i < half.size(); ++i) {
    EXPECT_EQ(half[i].scalar_type(), at::kBFloat16);
    EXPECT_LT(Distance(half[i], exact[i]), kUnit) << i;
  }
}

TEST(HalfOperators, ValuesAndGradientsAreThoseOfFloat) {
  using Inputs = std::vector<at::Tensor>;
  for (const Shape& s : kShapes) {
    const at::Tensor x = Random({s.rows, s.length, s.heads * s.dim}, 1), weight = Random({s.dim}, 2);
    ExpectAsInFloat([&](const Inputs& in) { return RmsNorm(in[0], in[1], 1e-6); },
                    {x, Random({s.heads * s.dim}, 4)});
    const RopeTables turns = Turns(s.length, s.heads, s.dim);
    ExpectAsInFloat([&](const Inputs& in) { return HeadNormRope(in[0], in[1], turns, 1e-6); }, {x, weight});
    ExpectAsInFloat([&](const Inputs& in) { return SwiGlu(in[0], in[1]); }, {x, Random(x.sizes(), 5)});
  }
}

TEST(HalfOperators, AttentionOfShortHeadsIsThatOfFloat) {
  using Inputs = std::vector<at::Tensor>;
  const at::Tensor of_all = AdditiveMask(at::ones({5, 9}, at::kBool).tril(4), at::zeros({1})),
                   of_rows = AdditiveMask(at::arange(9).lt(at::arange(3, 6).unsqueeze(1)), at::zeros({1}))
                                 .view({3, 1, 1, 9});
  for (const std::int64_t kv_heads : {2, 4}) {
    for (const at::Tensor& mask : {at::Tensor(), of_all, of_rows}) {
      const Inputs inputs = {Random({3, 4, 5, 16}, 1), Random({3, kv_heads, 9, 16}, 2),
                             Random({3, kv_heads, 9, 16}, 3)};
      ExpectAsInFloat(
          [&](const Inputs& in) {
            const at::Tensor hides = mask.defined() ? mask.to(in[0].scalar_type()) : mask;
            return Attend(in[0], in[1], in[2], hides);
          },
          inputs);
    }
  }
}

TEST(HalfOperators, KeepWhatTheyWereGivenAndNoFloatCopy) {
  InstallSavedVariableHooks();
  const auto saved_by = [](const auto& fn) {
    const CountSavedBytes saved;
    const at::Tensor y = fn();
    return saved.bytes();
  };
  const at::Tensor x = Random({4, 10, 96}, 1).set_requires_grad(true), up = Random({4, 10, 96}, 2),
                   weight = Random({96}, 3), of_head = Random({24}, 4);
  const auto bytes = static_cast<std::int64_t>(x.nbytes());
  EXPECT_EQ(saved_by([&] { return RmsNorm(x, weight, 1e-6); }), bytes + 2 * 96 + 4 * 40);
  EXPECT_EQ(saved_by([&] { return SwiGlu(x, up); }), 2 * bytes);
  const RopeTables turns = Turns(10, 4, 24);
  const auto of_turns = static_cast<std::int64_t>(turns.cos.nbytes() + turns.sin.nbytes());
  EXPECT_EQ(saved_by([&] { return HeadNormRope(x, of_head, turns, 1e-6); }),
            bytes + 2 * 24 + 4 * 4 * 40 + of_turns);
}

TEST(HalfOperators, AGradientDoesNotDependOnTheThreads) {
  const at::Tensor x = Random({40, 50, 4, 64}, 1), weight = Random({64}, 2), gradient = Random(x.sizes(), 3);
  const NormedLines lines = NormLines(x, weight, {}, 1e-6);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = NormLinesBackward(gradient, x, weight, lines.scale, {}).weight;
  at::set_num_threads(3);
  EXPECT_TRUE(at::equal(NormLinesBackward(gradient, x, weight, lines.scale, {}).weight, one));
  at::set_num_threads(before);
}

// A word that comes a thousand times: in bf16 the sum of equal gradients stands still at 256 of them.
TEST(HalfOperators, TheGradientOfAWordThatComesOftenIsItsWholeSum) {
  const at::Tensor ids = at::zeros({1000}, at::kLong);
  const auto gradient = [&](const auto& look_up) {
    const at::Tensor table = Random({3, 8}, 1).set_requires_grad(true);
    table.set_grad_dtype(at::kFloat);
    torch::autograd::backward({look_up(table).to(at::kFloat).sum()});
    return table.grad();
  };
  const at::Tensor whole = gradient([&](const at::Tensor& table) { return HalfEmbedding(table, ids); });
  EXPECT_EQ(whole.scalar_type(), at::kFloat);
  EXPECT_EQ(whole[0][0].item<double>(), 1000);
  EXPECT_EQ(whole[1].abs().max().item<double>(), 0);
  const at::Tensor lost = gradient([&](const at::Tensor& table) { return at::embedding(table, ids); });
  EXPECT_EQ(lost[0][0].item<double>(), 256);  // what it is for
}

// Their positions run together where the tables are rounded.
TEST(HalfOperators, TurnsTellFarPositionsApart) {
  ParameterSet set(1, at::kCPU);
  Language language(set, {.hidden = 16, .layers = 1, .heads = 2, .kv_heads = 1, .head_dim = 8, .ffn = 16}, 10,
                    4000);
  set.To(at::kCPU, at::kBFloat16);
  language.To(at::kCPU, at::kBFloat16);
  EXPECT_EQ(language.TableBytes(), 2 * 4000 * 4 * 4);
  const at::Tensor x = at::ones({1, 2, 8}, at::kBFloat16), weight = at::ones({8}, at::kBFloat16);
  const RopeTables lines = MakeRopeTables(4001, 8, 1e4, at::dtype(at::kFloat));
  const auto turned = [&](std::int64_t position) {
    return HeadNormRope(
        x, weight,
        RopeTurns({lines.cos.slice(0, position, position + 2), lines.sin.slice(0, position, position + 2)},
                  1),
        1e-6);
  };
  EXPECT_LT(Distance(turned(3999)[0][0][0], turned(3998)[0][0][1]), kUnit);
  EXPECT_GT(Distance(turned(3999)[0][0][0], turned(3999)[0][0][1]), 0.1);
}

TEST(LayerNorm, OfAHalfTypeKeepsItsStatisticsInFloat) {
  ParameterSet set(1, at::kCPU);
  const LayerNorm norm(set, "norm", 64);
  set.To(at::kCPU, at::kBFloat16);
  ParameterSet exact_set(1, at::kCPU);
  const LayerNorm exact(exact_set, "norm", 64);
  const at::Tensor x = (Random({6, 64}, 1).to(at::kFloat) + 300).to(at::kBFloat16);  // bf16 knows 300 to 2
  const auto gradient = [](const LayerNorm& of, const at::Tensor& x) {
    const at::Tensor leaf = x.clone().set_requires_grad(true);
    torch::autograd::backward({(of(leaf).to(at::kFloat) * Random({6, 64}, 2).to(at::kFloat)).sum()});
    return leaf.grad();
  };
  EXPECT_LT(Distance(norm(x), exact(x.to(at::kFloat))), kUnit);
  EXPECT_LT(Distance(gradient(norm, x), gradient(exact, x.to(at::kFloat))), 2 * kUnit);
}

}  // namespace
}  // namespace medley
