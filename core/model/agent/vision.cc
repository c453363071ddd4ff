#include <medley/model/agent/vision.h>

#include <ATen/Functions.h>

#include <cmath>
#include <limits>
#include <utility>

#include <medley/model/float_type.h>
#include <medley/model/products.h>

namespace medley {
namespace {

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

// Opacity is the sigmoid of so many times what the weights give, so that it learns to copy as soon as the
// pixels learn to be drawn.
constexpr double kAlphaGain = 4;

// Cut into patches and these into cells, both row by row, each as [channels, cell, cell]: [rows, patches,
// cells, channels * cell * cell].
at::Tensor ToCells(const at::Tensor& image, std::int64_t cells, std::int64_t cell) {
  const std::int64_t rows = image.size(0), channels = image.size(1), grid = image.size(2) / (cells * cell);
  const at::Tensor cut =
      image.view({rows, channels, grid, cells, cell, grid, cells, cell}).permute({0, 2, 5, 3, 6, 1, 4, 7});
  return cut.clone(at::MemoryFormat::Contiguous)
      .view({rows, grid * grid, cells * cells, channels * cell * cell});
}

// What the stem makes of each cell: [rows, patches, cells, channels]. A function of its own: without a graph
// its pieces are gone when it ends.
at::Tensor SeenCells(const at::Tensor& image, const StemWeights& stem, std::int64_t cells, double mean,
                     double scale) {
  const at::Tensor cut = ToCells(image, cells, stem.weight.size(2)).sub_(mean).to(stem.weight.scalar_type());
  const at::Tensor lines = cut.flatten(0, 2), weight = stem.weight.flatten(1).t();
  const at::Tensor mapped = GoesWide(cut) ? at::add(stem.bias, MatrixProduct(lines, weight), scale)
                                          : at::addmm(stem.bias, lines, weight, /*beta=*/1, /*alpha=*/scale);
  return at::gelu(mapped).view({cut.size(0), cut.size(1), cut.size(2), -1});
}

}  // namespace

at::Tensor ToPatches(const at::Tensor& image, std::int64_t patch) {
  const std::int64_t rows = image.size(0), channels = image.size(1), grid = image.size(2) / patch;
  const at::Tensor cut = image.view({rows, channels, grid, patch, grid, patch}).permute({0, 2, 4, 1, 3, 5});
  return cut.clone(at::MemoryFormat::Contiguous).view({rows, grid * grid, channels * patch * patch});
}

at::Tensor EmbedPatches(const at::Tensor& image, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& positions, double mean, double scale) {
  // A product of cut patches is faster than a convolution of 3 channels. The scale is taken of the product,
  // which is smaller than the picture; the mean is not, which would leave the difference of two large
  // numbers.
  const at::Tensor patches = ToPatches(image, weight.size(2)).sub_(mean).to(weight.scalar_type());
  return at::add(positions + bias, LinearProduct(patches, weight.flatten(1)), scale);
}

at::Tensor EmbedCells(const at::Tensor& image, const StemWeights& stem, const at::Tensor& weight,
                      const at::Tensor& bias, const at::Tensor& positions, double mean, double scale) {
  const at::Tensor seen = SeenCells(image, stem, weight.size(2), mean, scale);
  // The weight is turned and not the cells, which are many more.
  return at::add(positions + bias, LinearProduct(seen.flatten(2), weight.permute({0, 2, 3, 1}).flatten(1)));
}

at::Tensor FromPatches(const at::Tensor& patches, std::int64_t size, std::int64_t patch) {
  const std::int64_t rows = patches.size(0), channels = patches.size(2) / (patch * patch),
                     grid = size / patch;
  const at::Tensor cut = patches.view({rows, grid, grid, channels, patch, patch}).permute({0, 3, 1, 4, 2, 5});
  return cut.reshape({rows, channels, size, size});
}

TransformerLayer::Setting LayerSetting(const AgentConfig& config, const AgentConfig::Stack& stack,
                                       bool cross) {
  const int branches = cross ? 3 : 2;
  const double of_many = 1 / std::sqrt(static_cast<double>(stack.layers * branches));
  return {.width = config.language.hidden,
          .heads = stack.heads,
          .ffn = stack.ffn,
          .cross = cross,
          .pre_norm = stack.pre_norm,
          .residual_gain = stack.pre_norm ? of_many : 1.0,
          .dropout = stack.dropout};
}

ImageEncoder::ImageEncoder(ParameterSet& set, const AgentConfig& config)
    : image_(config.image), dropout_(config.encoder.dropout), width_(config.language.hidden) {
  const AgentConfig::Stem& stem = config.stem;
  const bool has_stem = stem.channels > 0;
  const auto kernel = [&](const std::string& name, std::int64_t out, std::int64_t in, std::int64_t side) {
    return set.Normal(name, {out, in, side, side}, 1 / std::sqrt(static_cast<double>(in * side * side)));
  };
  if (has_stem) {
    stem_ = {.weight = kernel("img_enc.stem.weight", stem.channels, 3, stem.cell),
             .bias = set.Constant("img_enc.stem.bias", {stem.channels}, 0)};
  }
  weight_ = has_stem ? kernel("img_enc.patch.weight", width_, stem.channels, image_.patch / stem.cell)
                     : kernel("img_enc.patch.weight", width_, 3, image_.patch);
  bias_ = set.Constant("img_enc.patch.bias", {width_}, 0);
  norm_in_ = LayerNorm(set, "img_enc.norm_in", width_);
  for (std::int64_t i = 0; i < config.encoder.layers; ++i) {
    layers_.emplace_back(set, "img_enc.layers." + std::to_string(i),
                         LayerSetting(config, config.encoder, false));
  }
  norm_out_ = LayerNorm(set, "img_enc.norm_out", width_);
  To(weight_.device(), weight_.scalar_type());
}

at::Tensor ImageEncoder::Embedded(const at::Tensor& image) const {
  const double mean = image_.mean, scale = image_.scale;
  return stem_.weight.defined() ? EmbedCells(image, stem_, weight_, bias_, positions_, mean, scale)
                                : EmbedPatches(image, weight_, bias_, positions_, mean, scale);
}

at::Tensor ImageEncoder::operator()(const at::Tensor& image, ForwardContext& context) const {
  at::Tensor x = norm_in_(Embedded(image));
  x = Dropout(dropout_, "encoder", context)(x);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const TransformerLayer::Drops drops = layers_[i].DropsOf("encoder " + std::to_string(i), context);
    x = context.Layer("encoder", static_cast<int>(i), x,
                      [this, i, drops](const at::Tensor& in) { return layers_[i](in, drops); });
  }
  return norm_out_(x);
}

void ImageEncoder::To(at::Device device, at::ScalarType dtype) {
  positions_ = Sinusoid(image_.size / image_.patch, width_, at::device(device).dtype(dtype));
}

PictureDecoder::PictureDecoder(ParameterSet& set, const AgentConfig& config)
    : image_(config.image), dropout_(config.decoder.dropout) {
  const std::int64_t patch = image_.patch, width = config.language.hidden;
  for (std::int64_t i = 0; i < config.decoder.layers; ++i) {
    layers_.emplace_back(set, "img_dec.layers." + std::to_string(i),
                         LayerSetting(config, config.decoder, true));
  }
  norm_out_ = LayerNorm(set, "img_dec.norm_out", width);
  const double deviation = 0.25 / std::sqrt(static_cast<double>(width));
  weight_ = set.Normal("img_dec.patch.weight", {width, 3, patch, patch}, deviation);
  bias_ = set.Constant("img_dec.patch.bias", {3}, 0);
  if (!config.alpha) return;
  alpha_weight_ = set.Normal("img_dec.alpha.weight", {width, 1, patch, patch}, deviation);
  alpha_bias_ = set.Constant("img_dec.alpha.bias", {1}, 0);
}

Drawn PictureDecoder::operator()(const at::Tensor& query, const at::Tensor& text, const at::Tensor& mask,
                                 const Opaque& opaque, ForwardContext& context) const {
  at::Tensor x = query;
  const TransformerLayer::Seen seen{.mask = {}, .context = text, .context_mask = mask};
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const TransformerLayer::Drops drops = layers_[i].DropsOf("decoder " + std::to_string(i), context);
    x = context.Layer("decoder", static_cast<int>(i), x,
                      [this, i, drops, seen](const at::Tensor& in) { return layers_[i](in, drops, seen); });
  }
  x = Dropout(dropout_, "decoder", context)(x);
  at::Tensor lines = norm_out_(x).flatten(0, 1);
  Drawn drawn;
  if (opaque.wanted && alpha_weight_.defined()) drawn.opacity = Opacity(lines, opaque.rows);
  drawn.picture = Pixels(std::move(lines));
  return drawn;
}

at::Tensor PictureDecoder::Pixels(at::Tensor lines) const {
  const std::int64_t patch = image_.patch;
  // pixel / scale + mean, in the product for the same reason; of a half type behind it, for a sum near the
  // mean would lose most of the pixel's bits.
  const at::ScalarType type = lines.scalar_type(), wide = AtLeastFloat(type);
  const at::Tensor bias =
      (bias_.to(wide) / image_.scale + image_.mean).view({3, 1}).expand({3, patch * patch}).reshape({-1});
  const at::Tensor weight = weight_.flatten(1);
  if (wide == type) lines = lines / image_.scale;  // in place of what came out of the norm
  const at::Tensor pixels = wide == type
                                ? at::addmm(bias, lines, weight)
                                : MatrixProduct(lines, weight).to(wide).div_(image_.scale).add_(bias);
  return Together(pixels);
}

at::Tensor PictureDecoder::Opacity(const at::Tensor& lines, const at::Tensor& opaque) const {
  const at::ScalarType wide = AtLeastFloat(lines.scalar_type());
  at::Tensor opacity =
      Together(MatrixProduct(lines, alpha_weight_.flatten(1)).to(wide).mul_(kAlphaGain).add_(alpha_bias_));
  // The sigmoid of infinity is 1, and has no slope.
  if (opaque.defined())
    opacity.masked_fill_(opaque.view({-1, 1, 1, 1}), std::numeric_limits<double>::infinity());
  return opacity.sigmoid_();
}

at::Tensor PictureDecoder::Together(const at::Tensor& lines) const {
  const std::int64_t grid = image_.size / image_.patch, drawn = grid * image_.patch,
                     rest = image_.size - drawn;
  at::Tensor picture = FromPatches(lines.view({-1, grid * grid, lines.size(1)}), drawn, image_.patch);
  if (rest == 0) return picture;
  // A tower's patches leave some pixels at two sides, which go on as the last ones.
  for (const std::int64_t side : {2, 3}) {
    std::vector<std::int64_t> more = picture.sizes().vec();
    more[static_cast<std::size_t>(side)] = rest;
    picture = at::cat({picture, picture.narrow(side, drawn - 1, 1).expand(more)}, side);
  }
  return picture;
}

at::Tensor Composite(const Drawn& drawn, const at::Tensor& seen) {
  const at::Tensor under = seen.to(drawn.picture.options().requires_grad(false)).clamp(0, 1);
  return at::lerp(under, drawn.picture, drawn.opacity);
}

}  // namespace medley
