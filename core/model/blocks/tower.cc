#include <medley/model/blocks/tower.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <medley/model/blocks/activation.h>
#include <medley/model/blocks/attention.h>
#include <medley/model/float_type.h>
#include <medley/model/products.h>

namespace medley {
namespace {

// The maps of a layer, in the order of TowerLayers::DropsOf.
enum TowerMap : std::uint8_t { kTowerQ, kTowerK, kTowerV, kTowerOut, kTowerUp, kTowerDown };
constexpr std::array<const char*, 6> kTowerMaps = {"q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"};

TowerTraining::Map TrainingOf(const Linear& map) {
  return {.weight = map.trains_weight(), .rank = map.rank()};
}

bool HasAny(const TowerTraining::Layer& layer) {
  return layer.self_norm || layer.ffn_norm || layer.q.any() || layer.k.any() || layer.v.any() ||
         layer.out.any() || layer.up.any() || layer.down.any();
}

// Pictures cut into squares: [rows, 3, size, size] -> [rows, patches, 3 * patch * patch], patches row by row,
// each as [3, patch, patch], with the mean taken away and scaled. What is left behind the last whole patch is
// not seen, as by a convolution.
at::Tensor CutAndScaled(const at::Tensor& pictures, std::int64_t patch, const at::Tensor& mean,
                        const at::Tensor& scale) {
  const std::int64_t rows = pictures.size(0), grid = pictures.size(2) / patch, seen = grid * patch;
  const at::Tensor cut = pictures.narrow(2, 0, seen)
                             .narrow(3, 0, seen)
                             .view({rows, 3, grid, patch, grid, patch})
                             .permute({0, 2, 4, 1, 3, 5});
  return cut.clone(at::MemoryFormat::Contiguous)
      .sub_(mean)
      .mul_(scale)
      .view({rows, grid * grid, 3 * patch * patch});
}

}  // namespace

bool TowerTraining::rests() const { return !patch && !norm_in && std::ranges::none_of(layers, HasAny); }

TowerLayers::TowerLayers(ParameterSet& set, const TowerConfig& config, const std::string& root)
    : config_(config), dropout_(set.adapters().lora.dropout) {
  const std::int64_t width = config.width;
  const double residual = 1 / std::sqrt(2.0 * static_cast<double>(config.layers));
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string name = root + "encoder.layers." + std::to_string(i) + ".";
    const auto linear = [&](const char* part, std::int64_t in, std::int64_t out, double gain = 1) {
      return Linear(set, name + part, in, out, /*bias=*/true, gain);
    };
    Layer layer;
    layer.self_norm = LayerNorm(set, name + "layer_norm1", width, config.epsilon);
    layer.q = linear("self_attn.q_proj", width, width);
    layer.k = linear("self_attn.k_proj", width, width);
    layer.v = linear("self_attn.v_proj", width, width);
    layer.out = linear("self_attn.out_proj", width, width, residual);
    layer.ffn_norm = LayerNorm(set, name + "layer_norm2", width, config.epsilon);
    layer.up = linear("mlp.fc1", width, config.ffn);
    layer.down = linear("mlp.fc2", config.ffn, width, residual);
    layers_.push_back(std::move(layer));
  }
  if (config.layers > 0) set.Hidden(root + "encoder.layers.");
}

VisionTower::VisionTower(ParameterSet& set, const TowerConfig& config, const std::string& root)
    : config_(config) {
  set.BeginBase("");
  const std::int64_t width = config.width, patch = config.patch;
  const double of_width = 1 / std::sqrt(static_cast<double>(width));
  const std::string embeddings = root + "embeddings.";
  const bool is_clip = config.kind == TowerKind::kClip;
  if (is_clip) class_ = set.Normal(embeddings + "class_embedding", {width}, of_width);
  kernel_ = set.Normal(embeddings + "patch_embedding.weight", {width, 3, patch, patch},
                       1 / std::sqrt(static_cast<double>(3 * patch * patch)));
  if (!is_clip) bias_ = set.Constant(embeddings + "patch_embedding.bias", {width}, 0);
  positions_ = set.Normal(embeddings + "position_embedding.weight", {config.positions(), width}, of_width);
  if (is_clip) norm_in_ = LayerNorm(set, root + "pre_layrnorm", width, config.epsilon);
  layers_.emplace(set, config, root);
  set.EndBase(/*last=*/false);
  To(kernel_.device(), kernel_.scalar_type());
}

at::Tensor VisionTower::Embedded(const at::Tensor& pictures) const {
  const at::Tensor cut = CutAndScaled(pictures, config_.patch, mean_, scale_).to(kernel_.scalar_type());
  const at::Tensor patches = LinearProduct(cut, kernel_.flatten(1), bias_);
  if (!class_.defined()) return patches + positions_;
  const at::Tensor whole = class_.expand({patches.size(0), 1, config_.width});
  return norm_in_(at::cat({whole, patches}, 1) + positions_);
}

std::vector<Dropout> TowerLayers::DropsOf(std::size_t index, ForwardContext& context) const {
  const Layer& layer = layers_[index];
  std::vector<Dropout> drops;
  const std::array<const Linear*, 6> maps = {&layer.q,   &layer.k,  &layer.v,
                                             &layer.out, &layer.up, &layer.down};
  for (std::size_t i = 0; i < maps.size(); ++i) {
    drops.emplace_back(maps[i]->rank() > 0 ? dropout_ : 0,
                       "tower " + std::to_string(index) + " " + kTowerMaps[i], context);
  }
  return drops;
}

at::Tensor TowerLayers::RunLayer(std::size_t index, const at::Tensor& x,
                                 const std::vector<Dropout>& drops) const {
  const Layer& layer = layers_[index];
  const auto map = [&](const Linear& linear, TowerMap which, const at::Tensor& in) {
    return linear(in, drops[which](in));
  };
  const auto heads = [&](const at::Tensor& of) {
    return of.view({of.size(0), of.size(1), config_.heads, config_.width / config_.heads}).transpose(1, 2);
  };
  at::Tensor y = layer.self_norm(x);
  y = Attend(heads(map(layer.q, kTowerQ, y)), heads(map(layer.k, kTowerK, y)),
             heads(map(layer.v, kTowerV, y)));
  y = x + map(layer.out, kTowerOut, y);
  at::Tensor inside = map(layer.up, kTowerUp, layer.ffn_norm(y));
  inside = Activate(inside, config_.activation);
  return y + map(layer.down, kTowerDown, inside);
}

at::Tensor TowerLayers::operator()(at::Tensor x, ForwardContext& context) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::vector<Dropout> drops = DropsOf(i, context);
    x = context.Layer("tower", static_cast<int>(i), x,
                      [this, i, drops](const at::Tensor& in) { return RunLayer(i, in, drops); });
  }
  return x;
}

at::Tensor VisionTower::operator()(const at::Tensor& pictures, ForwardContext& context) const {
  const at::Tensor x = (*layers_)(Embedded(pictures), context);
  return class_.defined() ? x.narrow(1, 1, config_.patches()).contiguous() : x;
}

void TowerLayers::AddTo(TowerTraining& training) const {
  training.dropout = dropout_;
  for (const Layer& layer : layers_) {
    training.layers.push_back({.self_norm = layer.self_norm.trained(),
                               .ffn_norm = layer.ffn_norm.trained(),
                               .q = TrainingOf(layer.q),
                               .k = TrainingOf(layer.k),
                               .v = TrainingOf(layer.v),
                               .out = TrainingOf(layer.out),
                               .up = TrainingOf(layer.up),
                               .down = TrainingOf(layer.down)});
  }
}

void VisionTower::AddTo(TowerTraining& training) const {
  const auto trains = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  training.kernel = trains(kernel_);
  training.patch = training.kernel || trains(class_) || trains(bias_) || trains(positions_);
  training.norm_in = class_.defined() && norm_in_.trained();
  layers_->AddTo(training);
}

void VisionTower::To(at::Device device, at::ScalarType dtype) {
  const auto line = [&](const std::array<double, 3>& values, bool inverse) {
    std::vector<double> all(values.begin(), values.end());
    if (inverse) {
      for (double& value : all) value = 1 / value;
    }
    return at::tensor(at::ArrayRef<double>(all), at::kDouble).to(device, AtLeastFloat(dtype)).view({3, 1, 1});
  };
  mean_ = line(config_.mean, false);
  scale_ = line(config_.deviation, true);
}

std::int64_t VisionTower::TableBytes() const {
  return static_cast<std::int64_t>(mean_.nbytes() + scale_.nbytes());
}

Projector::Projector(ParameterSet& set, const TowerConfig& config, std::int64_t width,
                     const std::string& root)
    : activation_(config.projector),
      in_(set, root + "linear_1", config.width, width, /*bias=*/true),
      out_(set, root + "linear_2", width, width, /*bias=*/true) {
  set.Hidden(root);
}

at::Tensor Projector::operator()(const at::Tensor& x) const {
  const at::Tensor inside = in_(x);
  return out_(Activate(inside, activation_));
}

void Projector::AddTo(TowerTraining& training) const {
  training.projector_in = TrainingOf(in_);
  training.projector_out = TrainingOf(out_);
}

}  // namespace medley
