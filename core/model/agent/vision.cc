#include <medley/model/agent/vision.h>

#include <ATen/Functions.h>

#include <cmath>

#include <medley/model/agent/operators.h>

namespace medley {
namespace {

// [rows, n, parts * width] -> parts of [rows, heads, n, width / heads], without a copy
std::vector<at::Tensor> Heads(const at::Tensor& x, std::int64_t parts, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), parts, heads, x.size(2) / (parts * heads)})
      .permute({2, 0, 3, 1, 4})
      .unbind(0);
}

at::Tensor Join(const at::Tensor& heads) { return heads.transpose(1, 2).flatten(2); }

// Half of the dims code the patch's row, half its column: even dims sin, odd cos of index * 10000^(-2i /
// (width/2)).
at::Tensor Sinusoid(std::int64_t grid, std::int64_t width, const at::TensorOptions& options) {
  const auto wide = options.dtype(at::kDouble);
  const std::int64_t half = width / 2;
  const at::Tensor frequency =
      at::pow(10000.0, at::arange(0, half, 2, wide) * (-1.0 / static_cast<double>(half)));
  const at::Tensor angle = at::arange(grid, wide).unsqueeze(1) * frequency;  // [grid, half / 2]
  const at::Tensor code = at::stack({at::sin(angle), at::cos(angle)}, -1).view({grid, half});
  const at::Tensor row = code.unsqueeze(1).expand({grid, grid, half}),
                   column = code.unsqueeze(0).expand({grid, grid, half});
  return at::cat({row, column}, -1).view({grid * grid, width}).to(options);
}

double ResidualGain(const AgentConfig::Stack& config, int branches) {
  return config.pre_norm ? 1 / std::sqrt(static_cast<double>(config.layers * branches)) : 1.0;
}

}  // namespace

Attention::Attention(ParameterSet& set, const std::string& name, std::int64_t width, std::int64_t heads,
                     bool cross, double out_gain)
    : heads_(heads) {
  if (cross) {
    q_ = Linear(set, name + ".q_proj", width, width, true);
    kv_ = Linear(set, name + ".kv_proj", width, 2 * width, true);
  } else {
    qkv_ = Linear(set, name + ".in_proj", width, 3 * width, true);
  }
  out_ = Linear(set, name + ".out_proj", width, width, true, out_gain);
}

at::Tensor Attention::Self(const at::Tensor& x) const {
  const std::vector<at::Tensor> parts = Heads(qkv_(x), 3, heads_);
  return out_(Join(at::scaled_dot_product_attention(parts[0], parts[1], parts[2])));
}

at::Tensor Attention::Cross(const at::Tensor& x, const at::Tensor& context, const at::Tensor& mask) const {
  const at::Tensor q = Heads(q_(x), 1, heads_)[0];
  const std::vector<at::Tensor> kv = Heads(kv_(context), 2, heads_);
  const at::Tensor seen = mask.expand({-1, -1, x.size(1), -1});
  return out_(Join(at::scaled_dot_product_attention(q, kv[0], kv[1], seen)));
}

VisionLayer::VisionLayer(ParameterSet& set, const std::string& name, std::int64_t width,
                         const AgentConfig::Stack& config, bool cross)
    : pre_norm_(config.pre_norm), has_cross_(cross) {
  const double gain = ResidualGain(config, cross ? 3 : 2);
  self_ = Attention(set, name + ".self_attn", width, config.heads, false, gain);
  self_norm_ = LayerNorm(set, name + ".self_norm", width);
  if (cross) {
    cross_ = Attention(set, name + ".cross_attn", width, config.heads, true, gain);
    cross_norm_ = LayerNorm(set, name + ".cross_norm", width);
  }
  up_ = Linear(set, name + ".ffn.up", width, config.ffn, true);
  down_ = Linear(set, name + ".ffn.down", config.ffn, width, true, gain);
  ffn_norm_ = LayerNorm(set, name + ".ffn_norm", width);
}

template <typename Fn>
at::Tensor VisionLayer::Residual(const at::Tensor& x, const LayerNorm& norm, const Fn& fn) const {
  return pre_norm_ ? x + fn(norm(x)) : norm(x + fn(x));
}

at::Tensor VisionLayer::operator()(const at::Tensor& x, const at::Tensor& context,
                                   const at::Tensor& mask) const {
  at::Tensor y = Residual(x, self_norm_, [&](const at::Tensor& in) { return self_.Self(in); });
  if (has_cross_) {
    y = Residual(y, cross_norm_, [&](const at::Tensor& in) { return cross_.Cross(in, context, mask); });
  }
  return Residual(y, ffn_norm_, [&](const at::Tensor& in) { return down_(up_(in).relu_()); });
}

ImageEncoder::ImageEncoder(ParameterSet& set, const AgentConfig& config)
    : image_(config.image), width_(config.language.hidden) {
  const std::int64_t patch = image_.patch;
  weight_ = set.Normal("img_enc.patch.weight", {width_, 3, patch, patch}, 1 / std::sqrt(3.0 * patch * patch));
  bias_ = set.Constant("img_enc.patch.bias", {width_}, 0);
  norm_in_ = LayerNorm(set, "img_enc.norm_in", width_);
  for (std::int64_t i = 0; i < config.encoder.layers; ++i) {
    layers_.emplace_back(set, "img_enc.layers." + std::to_string(i), width_, config.encoder, false);
  }
  norm_out_ = LayerNorm(set, "img_enc.norm_out", width_);
  To(weight_.device(), weight_.scalar_type());
}

at::Tensor ImageEncoder::operator()(const at::Tensor& image, ForwardContext& context) const {
  at::Tensor x = norm_in_(EmbedPatches(image, weight_, bias_, positions_, image_.mean, image_.scale));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = context.Layer("encoder", static_cast<int>(i), x,
                      [this, i](const at::Tensor& in) { return layers_[i](in); });
  }
  return norm_out_(x);
}

void ImageEncoder::To(at::Device device, at::ScalarType dtype) {
  positions_ = Sinusoid(image_.size / image_.patch, width_, at::device(device).dtype(dtype));
}

PictureDecoder::PictureDecoder(ParameterSet& set, const AgentConfig& config) : image_(config.image) {
  const std::int64_t patch = image_.patch, width = config.language.hidden;
  for (std::int64_t i = 0; i < config.decoder.layers; ++i) {
    layers_.emplace_back(set, "img_dec.layers." + std::to_string(i), width, config.decoder, true);
  }
  norm_out_ = LayerNorm(set, "img_dec.norm_out", width);
  weight_ = set.Normal("img_dec.patch.weight", {width, 3, patch, patch},
                       0.25 / std::sqrt(static_cast<double>(width)));
  bias_ = set.Constant("img_dec.patch.bias", {3}, 0);
}

at::Tensor PictureDecoder::operator()(const at::Tensor& query, const at::Tensor& text, const at::Tensor& mask,
                                      ForwardContext& context) const {
  at::Tensor x = query;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    x = context.Layer("decoder", static_cast<int>(i), x,
                      [this, i, text, mask](const at::Tensor& in) { return layers_[i](in, text, mask); });
  }
  const std::int64_t patch = image_.patch;
  // pixel / scale + mean, in the product for the same reason.
  const at::Tensor bias =
      (bias_ / image_.scale + image_.mean).view({3, 1}).expand({3, patch * patch}).reshape({-1});
  const at::Tensor scaled = norm_out_(x).flatten(0, 1) / image_.scale;
  const at::Tensor pixels = at::addmm(bias, scaled, weight_.flatten(1));
  return FromPatches(pixels.view({x.size(0), x.size(1), -1}), image_.size, patch);
}

}  // namespace medley
