#include <medley/model/blocks/transformer_layer.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace medley {

FeedForward::FeedForward(ParameterSet& set, const std::string& name, std::int64_t width, std::int64_t inner,
                         Activation activation, double out_gain)
    : activation_(activation),
      up_(set, name + ".up", width, inner, true),
      down_(set, name + ".down", inner, width, true, out_gain) {
  set.Hidden(name + ".");
}

at::Tensor FeedForward::operator()(const at::Tensor& x, const Dropout& drop) const {
  at::Tensor inner = up_(x);
  inner = activation_ == Activation::kRelu ? inner.relu_() : Activate(inner, activation_);
  return down_(drop(inner));
}

TransformerLayer::TransformerLayer(ParameterSet& set, const std::string& name, const Setting& setting)
    : setting_(setting) {
  const std::int64_t width = setting.width;
  const auto attention = [&](const std::string& part, bool cross) {
    return Attention(set, name + part,
                     {.width = width,
                      .heads = setting.heads,
                      .cross = cross,
                      .kind = setting.attention,
                      .out_gain = setting.residual_gain});
  };
  self_ = attention(".self_attn", false);
  self_norm_ = LayerNorm(set, name + ".self_norm", width, setting.epsilon);
  if (setting.cross) {
    cross_ = attention(".cross_attn", true);
    cross_norm_ = LayerNorm(set, name + ".cross_norm", width, setting.epsilon);
  }
  ffn_ = FeedForward(set, name + ".ffn", width, setting.ffn, setting.activation, setting.residual_gain);
  ffn_norm_ = LayerNorm(set, name + ".ffn_norm", width, setting.epsilon);
}

TransformerLayer::Drops TransformerLayer::DropsOf(const std::string& site, ForwardContext& context) const {
  if (setting_.dropout == 0) return {};
  const auto drop = [&](const char* part, bool wanted = true) {
    return wanted ? Dropout(setting_.dropout, site + part, context) : Dropout();
  };
  const bool eager = setting_.attention == AttentionKind::kEager;
  return {.self_weights = drop(" self weights", eager),
          .self = drop(" self"),
          .cross_weights = drop(" cross weights", eager && setting_.cross),
          .cross = drop(" cross", setting_.cross),
          .ffn_inner = drop(" ffn inner"),
          .ffn = drop(" ffn")};
}

template <typename Fn>
at::Tensor TransformerLayer::Residual(const at::Tensor& x, const LayerNorm& norm, const Dropout& drop,
                                      const Fn& fn) const {
  at::Tensor added = setting_.pre_norm ? fn(norm(x)) : fn(x);
  added = drop(added);
  return setting_.pre_norm ? x + added : norm(x + added);
}

at::Tensor TransformerLayer::operator()(const at::Tensor& x, const Drops& drops, const Seen& seen) const {
  at::Tensor y = Residual(x, self_norm_, drops.self, [&](const at::Tensor& in) {
    return self_.Self(in, seen.mask, drops.self_weights);
  });
  if (setting_.cross) {
    y = Residual(y, cross_norm_, drops.cross, [&](const at::Tensor& in) {
      return cross_.Cross(in, seen.context, seen.context_mask, drops.cross_weights);
    });
  }
  return Residual(y, ffn_norm_, drops.ffn, [&](const at::Tensor& in) { return ffn_(in, drops.ffn_inner); });
}

}  // namespace medley
