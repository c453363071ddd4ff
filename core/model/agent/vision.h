#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/model/agent/agent_config.h>
#include <medley/model/blocks/transformer_layer.h>
#include <medley/model/parameter_set.h>

namespace medley {

// A copy of an image cut into squares: [rows, channels, size, size] -> [rows, patches, channels * patch *
// patch], patches row by row, each as [channels, patch, patch].
at::Tensor ToPatches(const at::Tensor& image, std::int64_t patch);
// The vectors of an image's patches: (image - mean) * scale, convolved by squares with weight [d, channels,
// patch, patch] and bias [d], + positions [patches, d] -> [rows, patches, d].
at::Tensor EmbedPatches(const at::Tensor& image, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& positions, double mean, double scale);
// The way back from ToPatches: [rows, 3, size, size].
at::Tensor FromPatches(const at::Tensor& patches, std::int64_t size, std::int64_t patch);

// The same with a stem: each cell of a patch, cells row by row, is mapped with weight [channels, 3, cell,
// cell] and bias [channels], then GELU, and a patch's cells are convolved with weight [d, channels, patch /
// cell, patch / cell].
struct StemWeights {
  at::Tensor weight, bias;
};
at::Tensor EmbedCells(const at::Tensor& image, const StemWeights& stem, const at::Tensor& weight,
                      const at::Tensor& bias, const at::Tensor& positions, double mean, double scale);

// A layer of the encoder or, with cross-attention, of the picture decoder.
TransformerLayer::Setting LayerSetting(const AgentConfig& config, const AgentConfig::Stack& stack,
                                       bool cross);

// Pictures in [0, 1] to one vector for each patch, patches row by row.
class ImageEncoder {
 public:
  ImageEncoder(ParameterSet& set, const AgentConfig& config);
  // [rows, 3, size, size] -> [rows, patches, width]
  at::Tensor operator()(const at::Tensor& image, ForwardContext& context) const;
  void To(at::Device device, at::ScalarType dtype);
  std::int64_t TableBytes() const { return static_cast<std::int64_t>(positions_.nbytes()); }

 private:
  at::Tensor Embedded(const at::Tensor& image) const;  // [rows, patches, width], as they come

  AgentConfig::Image image_;
  double dropout_;
  std::int64_t width_;
  StemWeights stem_;          // undefined without one
  at::Tensor weight_, bias_;  // [width, 3, patch, patch] or, of cells, as EmbedCells has it; [width]
  at::Tensor positions_;      // [patches, width]
  LayerNorm norm_in_, norm_out_;
  std::vector<TransformerLayer> layers_;
};

// What was drawn, [rows, 3, size, size], not clamped, and how much of what was seen it covers, [rows, 1,
// size, size]; both at least in float.
struct Drawn {
  at::Tensor picture;
  at::Tensor opacity;  // undefined where nobody asked for it
};
// It over what was seen, [rows, 3, size, size], of which nothing is taken that is outside [0, 1]. Where the
// opacity is 0 in float, the pixels are those that were seen.
at::Tensor Composite(const Drawn& drawn, const at::Tensor& seen);

// Whether an opacity is wanted, where the config has it, and of which rows it is 1 (bool [rows]; undefined:
// of none): what was seen does not show through.
struct Opaque {
  bool wanted = false;
  at::Tensor rows{};
};

// The current picture's vectors and the text's hidden states to a new picture.
class PictureDecoder {
 public:
  PictureDecoder(ParameterSet& set, const AgentConfig& config);
  // query [rows, patches, width], text [rows, m, width], mask [rows, 1, 1, m] additive.
  Drawn operator()(const at::Tensor& query, const at::Tensor& text, const at::Tensor& mask,
                   const Opaque& opaque, ForwardContext& context) const;

 private:
  at::Tensor Pixels(at::Tensor lines) const;  // [rows * patches, width] -> [rows, 3, size, size]
  // The same -> [rows, 1, size, size].
  at::Tensor Opacity(const at::Tensor& lines, const at::Tensor& opaque) const;
  at::Tensor Together(const at::Tensor& lines) const;  // [rows * patches, channels * patch * patch]

  AgentConfig::Image image_;
  double dropout_;
  at::Tensor weight_, bias_;              // [width, 3, patch, patch], [3]
  at::Tensor alpha_weight_, alpha_bias_;  // [width, 1, patch, patch], [1]; undefined without alpha
  LayerNorm norm_out_;
  std::vector<TransformerLayer> layers_;
};

}  // namespace medley
