#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <medley/model/blocks/tower_config.h>
#include <medley/model/blocks/tower_training.h>
#include <medley/model/parameter_set.h>

namespace medley {

// A vision tower as CLIP or SigLIP with the names of published checkpoints: pictures in [0, 1] to the states
// that LLaVA takes, those in front of any closing norm, without CLIP's vector of the whole picture. A base:
// where a set has adapters its parameters are frozen, and its layers' maps may have some.
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
  struct Layer {
    LayerNorm self_norm, ffn_norm;
    Linear q, k, v, out, up, down;
  };

  at::Tensor Embedded(const at::Tensor& pictures) const;  // [rows, positions, width]
  at::Tensor RunLayer(std::size_t index, const at::Tensor& x, const std::vector<Dropout>& drops) const;
  std::vector<Dropout> DropsOf(std::size_t index, ForwardContext& context) const;

  TowerConfig config_;
  at::Tensor class_, kernel_, bias_, positions_;  // [width], [width, 3, patch, patch], [width], [n, width]
  at::Tensor mean_, scale_;                       // [3, 1, 1], at least in float
  LayerNorm norm_in_;                             // of CLIP
  std::vector<Layer> layers_;
  double dropout_ = 0;  // of what goes into adapters
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
