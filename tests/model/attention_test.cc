#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include <medley/base/error.h>
#include <medley/model/blocks/attention.h>
#include <medley/model/blocks/transformer_layer.h>
#include <medley/step/passes/saved_variables.h>
#include <medley/testing/training_context.h>

namespace medley {
namespace {

using check::TrainingContext;

struct Attended {
  explicit Attended(std::int64_t kv_heads, at::ScalarType dtype = at::kDouble) {
    at::manual_seed(3);
    for (const std::int64_t heads : {std::int64_t{6}, kv_heads, kv_heads})
      inputs.push_back(
          at::randn({2, heads, heads == 6 && inputs.empty() ? 5 : 9, 4}, dtype).set_requires_grad(true));
  }
  at::Tensor operator()(const at::Tensor& mask, AttentionKind kind, const Dropout& drop = {}) const {
    return Attend(inputs[0], inputs[1], inputs[2], mask, kind, drop);
  }
  std::vector<at::Tensor> inputs;
};

std::vector<at::Tensor> Masks() {
  const at::Tensor like = at::empty({}, at::kDouble);
  const at::Tensor lengths = at::tensor({9, 4}, at::kLong).view({2, 1, 1, 1});
  return {{},
          AdditiveMask(at::ones({5, 9}, at::kBool).tril_(3), like),
          AdditiveMask(at::arange(9).lt(lengths), like)};
}

TEST(Attention, EagerIsFusedButForRounding) {
  for (const std::int64_t kv_heads : {6, 3, 1}) {
    const Attended example(kv_heads);
    for (const at::Tensor& mask : Masks()) {
      const at::Tensor fused = example(mask, AttentionKind::kFused),
                       eager = example(mask, AttentionKind::kEager);
      EXPECT_EQ(fused.sizes(), (at::IntArrayRef{2, 5, 24}));
      EXPECT_TRUE(at::allclose(fused, eager, 1e-12, 1e-12));
      const at::Tensor weights = at::rand_like(fused);
      const auto of_fused = torch::autograd::grad({(fused * weights).sum()}, example.inputs);
      const auto of_eager = torch::autograd::grad({(eager * weights).sum()}, example.inputs);
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(at::allclose(of_fused[i], of_eager[i], 1e-11, 1e-12)) << i;
    }
  }
}

TEST(Attention, WhoeverSeesNothingGetsZeros) {
  const Attended example(3);
  const at::Tensor sees = at::ones({5, 9}, at::kBool);
  sees[2].fill_(false);
  for (const AttentionKind kind : {AttentionKind::kFused, AttentionKind::kEager}) {
    const at::Tensor out = example(AdditiveMask(sees, example.inputs[0]), kind);
    EXPECT_TRUE(out.select(1, 2).eq(0).all().item<bool>());
    const auto gradients = torch::autograd::grad({out.sum()}, example.inputs);
    for (const at::Tensor& gradient : gradients) EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  }
}

TEST(Attention, FusedHasNoWeightsToDrop) {
  TrainingContext context(0, 2);
  const Dropout drop(0.5, "weights", context);
  EXPECT_THROW(Attended(3)({}, AttentionKind::kFused, drop), Error);
  EXPECT_NO_THROW(Attended(3)({}, AttentionKind::kEager, drop));
}

// Section 4 of the reference on signs: 1 with no dropout, 2.25 with masks of bytes.
TEST(Attention, EagerKeepsItsWeightsOnceAndWithDropoutTwoAndAQuarterTimes) {
  InstallSavedVariableHooks();
  TrainingContext context(0, 2);
  const Dropout drop(0.5, "weights", context);
  const std::int64_t weights = std::int64_t{2} * 6 * 5 * 9 * 4;
  const at::Tensor mask = Masks()[1].to(at::kFloat);
  const auto saved = [&](const at::Tensor& seen, const Dropout& with) {
    const Attended example(6, at::kFloat);
    CountSavedBytes count;
    const at::Tensor out = example(seen, AttentionKind::kEager, with);
    for (const at::Tensor& input : example.inputs) count.Exclude(input);
    return count.bytes() - example.inputs[0].numel() * 4;  // the queries, divided
  };
  for (const at::Tensor& seen : {at::Tensor(), mask}) {
    EXPECT_EQ(saved(seen, {}), weights);
    EXPECT_EQ(saved(seen, drop), weights * 9 / 4);
  }
}

TEST(Attention, DroppedWeightsAreThoseOfTheirRow) {
  ParameterSet set(1, at::kCPU);
  const TransformerLayer layer(set, "layer",
                               {.width = 12,
                                .heads = 3,
                                .ffn = 16,
                                .activation = Activation::kGelu,
                                .attention = AttentionKind::kEager,
                                .dropout = 0.3});
  set.To(at::kCPU, at::kDouble);
  const at::Tensor x = at::randn({4, 7, 12}, at::kDouble);
  TrainingContext all(10, 4), part(12, 1);
  ForwardContext evaluation;
  const at::Tensor y = layer(x, layer.DropsOf("0", all));
  const at::Tensor of_part = layer(x.narrow(0, 2, 1), layer.DropsOf("0", part));
  EXPECT_TRUE(at::allclose(of_part, y.narrow(0, 2, 1), 1e-12, 1e-12));
  EXPECT_FALSE(at::allclose(layer(x, layer.DropsOf("1", all)), y, 1e-3, 1e-3));
  EXPECT_TRUE(layer(x, layer.DropsOf("0", evaluation)).equal(layer(x)));
}

}  // namespace
}  // namespace medley
