#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <medley/model/blocks/attention.h>
#include <medley/model/blocks/transformer_layer.h>
#include <medley/model/model.h>
#include <medley/model/parameter_set.h>

namespace medley_signs {

inline constexpr std::int64_t kFeatures = 108;  // x and y of 54 joints

// What is added to a frame: one vector to all of them, which leaves the network blind to their order; one for
// each place; nothing.
enum class Positions { kShared, kFrame, kNone };

struct NetworkSetting {
  std::int64_t classes = 60, longest = 150;  // frames
  std::int64_t width = kFeatures, heads = 9, ffn = 512, encoder_layers = 6;
  std::int64_t decoder_layers = 0;  // that ask the frames with a learned query; 0: a class token among them
  double dropout = 0;
  medley::Activation activation = medley::Activation::kRelu;
  medley::AttentionKind attention = medley::AttentionKind::kFused;
  Positions positions = Positions::kFrame;
};

// A decoder's layer whose only query has nobody to attend to but itself: its self-attention is left out, the
// sum around it is not.
class QueryLayer {
 public:
  QueryLayer(medley::ParameterSet& set, const std::string& name, const NetworkSetting& setting);

  struct Drops {
    medley::Dropout self, weights, cross, inner, ffn;
  };
  Drops DropsOf(const std::string& site, medley::ForwardContext& context) const;
  // query [rows, 1, width], frames [rows, n, width], mask [rows, 1, 1, n] -> [rows, 1, width]
  at::Tensor operator()(const at::Tensor& query, const at::Tensor& frames, const at::Tensor& mask,
                        const Drops& drops) const;

 private:
  double dropout_;
  bool drops_weights_;
  medley::Attention cross_;
  medley::FeedForward ffn_;
  medley::LayerNorm self_norm_, cross_norm_, ffn_norm_;
};

// The transformer of both models: over the frames of a clip, to the logits of its sign.
class Network {
 public:
  // With decoder layers frames go in as they are (width is kFeatures), and out through one linear map; with a
  // class token they are projected first, and three linear maps are behind.
  Network(medley::ParameterSet& set, const NetworkSetting& setting);

  // poses [rows, frames, kFeatures] of the parameters' type, lengths [rows] int64: the frames of a row that
  // are there, 1 or more; what stands behind them is not seen. -> [rows, classes]
  at::Tensor operator()(const at::Tensor& poses, const at::Tensor& lengths,
                        medley::ForwardContext& context) const;

  // As Model::Footprint, in numbers of the parameters' type, which has so many bytes.
  std::vector<medley::ForwardPart> Footprint(const medley::ForwardShape& shape,
                                             std::int64_t number_bytes) const;

 private:
  at::Tensor Embedded(const at::Tensor& poses, std::int64_t frames, medley::ForwardContext& context) const;
  at::Tensor Asked(const at::Tensor& frames, const at::Tensor& mask, medley::ForwardContext& context) const;
  at::Tensor Judged(const at::Tensor& clip, medley::ForwardContext& context) const;
  void AddInputParts(std::vector<medley::ForwardPart>& parts, std::int64_t rows, std::int64_t frames,
                     std::int64_t number_bytes) const;
  void AddQueryParts(std::vector<medley::ForwardPart>& parts, std::int64_t rows, std::int64_t frames,
                     std::int64_t number_bytes) const;
  std::int64_t Statistics(std::int64_t lines, std::int64_t number_bytes) const;
  void AddHeadParts(std::vector<medley::ForwardPart>& parts, std::int64_t rows, std::int64_t frames) const;

  bool has_token() const { return setting_.decoder_layers == 0; }
  medley::TransformerLayer::Setting LayerSetting() const;

  NetworkSetting setting_;
  medley::Linear in_;
  medley::LayerNorm in_norm_;
  at::Tensor positions_, token_;  // the class token, or the query
  std::vector<medley::TransformerLayer> encoder_;
  medley::LayerNorm encoder_norm_, decoder_norm_, head_norm_;
  std::vector<QueryLayer> decoder_;
  std::vector<medley::Linear> head_;
};

}  // namespace medley_signs
