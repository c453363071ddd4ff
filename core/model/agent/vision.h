#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/model/agent/agent_config.h>
#include <medley/model/parameter_set.h>

namespace medley {

// Attention of x over x, or over a context, with biases and no positions.
class Attention {
 public:
  Attention() = default;
  // cross: queries from x, keys and values from a context.
  Attention(ParameterSet& set, const std::string& name, std::int64_t width, std::int64_t heads, bool cross,
            double out_gain);

  // x [rows, n, width] -> the same shape
  at::Tensor Self(const at::Tensor& x) const;
  // context [rows, m, width], mask [rows, 1, 1, m] additive
  at::Tensor Cross(const at::Tensor& x, const at::Tensor& context, const at::Tensor& mask) const;

 private:
  std::int64_t heads_ = 0;
  Linear qkv_, q_, kv_, out_;
};

// One layer of the encoder or, with cross-attention, of the picture decoder: attention, then a ReLU FFN;
// LayerNorm before each of them, or after each with its residual (as published).
class VisionLayer {
 public:
  VisionLayer(ParameterSet& set, const std::string& name, std::int64_t width,
              const AgentConfig::Stack& config, bool cross);
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& context = {},
                        const at::Tensor& mask = {}) const;

 private:
  template <typename Fn>
  at::Tensor Residual(const at::Tensor& x, const LayerNorm& norm, const Fn& fn) const;

  bool pre_norm_, has_cross_;
  LayerNorm self_norm_, cross_norm_, ffn_norm_;
  Attention self_, cross_;
  Linear up_, down_;
};

// Pictures in [0, 1] to one vector for each patch, patches row by row.
class ImageEncoder {
 public:
  ImageEncoder(ParameterSet& set, const AgentConfig& config);
  // [rows, 3, size, size] -> [rows, patches, width]
  at::Tensor operator()(const at::Tensor& image, ForwardContext& context) const;
  void To(at::Device device, at::ScalarType dtype);
  std::int64_t TableBytes() const { return static_cast<std::int64_t>(positions_.nbytes()); }

 private:
  AgentConfig::Image image_;
  std::int64_t width_;
  at::Tensor weight_, bias_;  // [width, 3, patch, patch], [width]
  at::Tensor positions_;      // [patches, width]
  LayerNorm norm_in_, norm_out_;
  std::vector<VisionLayer> layers_;
};

// The current picture's vectors and the text's hidden states to a new picture.
class PictureDecoder {
 public:
  PictureDecoder(ParameterSet& set, const AgentConfig& config);
  // query [rows, patches, width], text [rows, m, width], mask [rows, 1, 1, m] additive
  // -> [rows, 3, size, size], not clamped
  at::Tensor operator()(const at::Tensor& query, const at::Tensor& text, const at::Tensor& mask,
                        ForwardContext& context) const;

 private:
  AgentConfig::Image image_;
  at::Tensor weight_, bias_;  // [width, 3, patch, patch], [3]
  LayerNorm norm_out_;
  std::vector<VisionLayer> layers_;
};

}  // namespace medley
