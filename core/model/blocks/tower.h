#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <medley/model/blocks/dropout.h>
#include <medley/model/blocks/tower_config.h>
#include <medley/model/blocks/tower_training.h>
#include <medley/model/parameter_set.h>

namespace medley {

// The layers of a VisionTower alone: of what a model cuts into patches in its own way. A base: where a set
// has adapters its parameters are frozen, and its maps may have some.
class TowerLayers {
 public:
  // `root` is in front of the published names. Between BeginBase and EndBase of the set.
  TowerLayers(ParameterSet& set, const TowerConfig& config, const std::string& root);

  // [rows, positions, width] -> the same, in front of any closing norm
  at::Tensor operator()(at::Tensor x, ForwardContext& context) const;
  // What it adds to `training`.
  void AddTo(TowerTraining& training) const;

 private:
  struct Layer {
    LayerNorm self_norm, ffn_norm;
    Linear q, k, v, out, up, down;
  };

  at::Tensor RunLayer(std::size_t index, const at::Tensor& x, const std::vector<Dropout>& drops) const;
  std::vector<Dropout> DropsOf(std::size_t index, ForwardContext& context) const;

  TowerConfig config_;
  std::vector<Layer> layers_;
  double dropout_ = 0;  // of what goes into adapters
};

// A vision tower as CLIP or SigLIP with the names of published checkpoints: pictures in [0, 1] to the states
// that LLaVA takes, those in front of any closing norm, without CLIP's vector of the whole picture. A base,
// as its layers.
class VisionTower {
 public:
  // `root` is in front of the published names.
  VisionTower(ParameterSet& set, const TowerConfig& config, const std::string& root);

  // [rows, 3, size, size], at least in float -> [rows, patches, width]
  at::Tensor operator()(const at::Tensor& pictures, ForwardContext& context) const;
  // What it adds to `training`.
  void AddTo(TowerTraining& training) const;
  void To(at::Device device, at::ScalarType dtype);
  std::int64_t TableBytes() const;

 private:
  at::Tensor Embedded(const at::Tensor& pictures) const;  // [rows, positions, width]

  TowerConfig config_;
  at::Tensor class_, kernel_, bias_, positions_;  // [width], [width, 3, patch, patch], [width], [n, width]
  at::Tensor mean_, scale_;                       // [3, 1, 1], at least in float
  LayerNorm norm_in_;                             // of CLIP
  std::optional<TowerLayers> layers_;             // always there
};

// What maps a tower's vectors to the width of a language, as LLaVA: two linear maps with biases.
class Projector {
 public:
  Projector(ParameterSet& set, const TowerConfig& config, std::int64_t width, const std::string& root);
  // [rows, n, the tower's width] -> [rows, n, width]
  at::Tensor operator()(const at::Tensor& x) const;
  void AddTo(TowerTraining& training) const;

 private:
  Activation activation_;
  Linear in_, out_;
};

}  // namespace medley
