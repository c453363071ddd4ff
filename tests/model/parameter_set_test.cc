#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <medley/base/error.h>
#include <medley/model/blocks/transformer_layer.h>
#include <medley/model/parameter_set.h>

namespace medley {
namespace {

TEST(ParameterSet, UniformValuesFillTheirBoundsAndDependOnNameAndSeed) {
  ParameterSet set(1, at::kCPU), again(1, at::kCPU), other(2, at::kCPU);
  const at::Tensor values = set.Uniform("query", {1000, 10}, -1, 3);
  EXPECT_GE(values.min().item<float>(), -1);
  EXPECT_LT(values.max().item<float>(), 3);
  EXPECT_NEAR(values.mean().item<float>(), 1, 0.07);
  EXPECT_TRUE(again.Uniform("query", {1000, 10}, -1, 3).equal(values));
  EXPECT_FALSE(again.Uniform("row", {1000, 10}, -1, 3).equal(values));
  EXPECT_FALSE(other.Uniform("query", {1000, 10}, -1, 3).equal(values));
}

TEST(ParameterSet, ARenamedParameterBeginsAsUnderItsFormerName) {
  ParameterSet before(1, at::kCPU), now(1, at::kCPU, {{"model.", "old.model."}});
  before.Normal("old.model.a", {40}, 1), before.Normal("other", {40}, 1);
  now.Normal("model.a", {40}, 1), now.Normal("other", {40}, 1);
  for (const std::size_t i : {0, 1}) EXPECT_TRUE(now.list()[i].tensor.equal(before.list()[i].tensor)) << i;
  EXPECT_EQ(now.list()[0].name, "model.a");
  EXPECT_EQ(now.list()[0].former_name, "old.model.a");
  EXPECT_EQ(now.list()[1].former_name, "");
}

TEST(ParameterSet, LayersMayStartAsCopiesOfOneAndAreTheirOwn) {
  ParameterSet set(1, at::kCPU);
  std::vector<Linear> layers;
  for (int i = 0; i < 3; ++i) layers.emplace_back(set, "decoder." + std::to_string(i) + ".up", 4, 4, true);
  const at::Tensor first = set.list()[0].tensor, second = set.list()[2].tensor;
  ASSERT_FALSE(first.equal(second));
  for (const char* layer : {"decoder.1.", "decoder.2."}) set.CopyStart("decoder.0.", layer);
  for (const std::size_t i : {2, 4}) EXPECT_TRUE(set.list()[i].tensor.equal(first)) << set.list()[i].name;
  EXPECT_TRUE(second.requires_grad());
  EXPECT_TRUE(second.is_leaf());
  EXPECT_NE(second.data_ptr(), first.data_ptr());
}

TEST(ParameterSet, ACopyOfNothingIsAnError) {
  ParameterSet set(1, at::kCPU);
  set.Constant("a.x", {2}, 0);
  set.Constant("b.x", {3}, 0);
  set.Constant("c.y", {2}, 0);
  EXPECT_THROW(set.CopyStart("a.", "b."), Error);
  EXPECT_THROW(set.CopyStart("a.", "c."), Error);
  EXPECT_THROW(set.CopyStart("a.", "d."), Error);
}

TEST(ParameterSet, KnowsWhatIsHiddenOfItsBlocksAndOfWhoSaysSo) {
  ParameterSet set(1, at::kMeta, {}, nullptr,
                   {.lora = {.rank = 2, .alpha = 4, .targets = {.names = {"map"}}}});
  set.Normal("table", {9, 4}, 1);
  const TransformerLayer layer(set, "body.0", {.width = 4, .heads = 2, .ffn = 8, .cross = true});
  set.BeginBase("");
  const Linear map(set, "base.map", 6, 5, true);
  set.EndBase();
  set.Normal("base.kernels", {6, 3, 2, 2}, 1);
  set.Hidden("base.");
  const Linear out(set, "out", 4, 3, true);
  std::string hidden;
  for (const Parameter& parameter : set.list()) hidden += parameter.hidden ? parameter.name + " " : "";
  EXPECT_EQ(
      hidden,
      "body.0.self_attn.in_proj.weight body.0.self_attn.out_proj.weight body.0.cross_attn.q_proj.weight "
      "body.0.cross_attn.kv_proj.weight body.0.cross_attn.out_proj.weight body.0.ffn.up.weight "
      "body.0.ffn.down.weight base.map.weight base.kernels ");
  EXPECT_THROW(set.Hidden("bose."), Error);
  EXPECT_THROW(set.Hidden("body.0.ffn_norm."), Error) << "of vectors alone";
}

TEST(ParameterSet, OnTheMetaDeviceAllOfItHasShapesOnly) {
  ParameterSet set(1, at::kMeta);
  set.Uniform("a.x", {2}, 0, 1);
  set.Normal("b.x", {2}, 1);
  EXPECT_NO_THROW(set.CopyStart("a.", "b."));
  for (const Parameter& parameter : set.list()) EXPECT_TRUE(parameter.tensor.is_meta());
}

}  // namespace
}  // namespace medley
