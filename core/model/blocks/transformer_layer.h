#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include <medley/model/blocks/activation.h>
#include <medley/model/blocks/attention.h>
#include <medley/model/blocks/dropout.h>
#include <medley/model/parameter_set.h>

namespace medley {

// down(drop(activation(up(x)))): two linear maps with biases.
class FeedForward {
 public:
  FeedForward() = default;
  FeedForward(ParameterSet& set, const std::string& name, std::int64_t width, std::int64_t inner,
              Activation activation, double out_gain = 1);
  at::Tensor operator()(const at::Tensor& x, const Dropout& drop = {}) const;

 private:
  Activation activation_ = Activation::kRelu;
  Linear up_, down_;
};

// Self-attention, then where it crosses attention over a context, then a feed-forward network: each added to
// what it was made from, with a LayerNorm before it, or behind the sum (as published in 2017).
class TransformerLayer {
 public:
  struct Setting {
    std::int64_t width = 0, heads = 1, ffn = 0;
    bool cross = false, pre_norm = false;
    Activation activation = Activation::kRelu;
    AttentionKind attention = AttentionKind::kFused;
    double residual_gain = 1;  // of what is added
    double dropout = 0;        // of what is added and inside the network; of eager attention's weights too
    double epsilon = kLayerNormEpsilon;
  };
  TransformerLayer(ParameterSet& set, const std::string& name, const Setting& setting);

  // What one forward drops: made in front of ForwardContext::Layer. `site`: once in a forward.
  struct Drops {
    Dropout self_weights, self, cross_weights, cross, ffn_inner, ffn;
  };
  Drops DropsOf(const std::string& site, ForwardContext& context) const;

  // What a layer sees besides x; masks as in Attend.
  struct Seen {
    at::Tensor mask{};                     // of x for x
    at::Tensor context{}, context_mask{};  // where it crosses: [rows, m, width]
  };
  // x [rows, n, width] -> the same shape
  at::Tensor operator()(const at::Tensor& x, const Drops& drops, const Seen& seen) const;
  at::Tensor operator()(const at::Tensor& x, const Drops& drops = {}) const { return (*this)(x, drops, {}); }

 private:
  template <typename Fn>
  at::Tensor Residual(const at::Tensor& x, const LayerNorm& norm, const Dropout& drop, const Fn& fn) const;

  Setting setting_;
  LayerNorm self_norm_, cross_norm_, ffn_norm_;
  Attention self_, cross_;
  FeedForward ffn_;
};

}  // namespace medley
