#include <algorithm>
#include <utility>

#include <medley/model/blocks/backward_needs.h>
#include <medley/model/blocks/dropout.h>
#include <medley/model/blocks/footprint.h>
#include <medley/model/blocks/half_operators.h>
#include <medley/model/blocks/tower_footprint.h>

namespace medley {
namespace {

using Map = TowerTraining::Map;

// What of a layer has a gradient, by what is trained in it and before it.
struct TowerGradients {
  TowerGradients(const TowerTraining::Layer& layer, bool x)
      : x(x),
        normed(x || layer.self_norm),
        attended(normed || layer.q.any() || layer.k.any() || layer.v.any()),
        y(attended || x || layer.out.any()),
        fed(y || layer.ffn_norm),
        inside(fed || layer.up.any()),
        out(inside || y || layer.down.any()) {}

  bool x, normed, attended, y, fed, inside, out;
};

// Of all rows. A part counts its input; what it does not keep is there until its output is.
class TowerNumbers {
 public:
  TowerNumbers(const TowerConfig& config, std::int64_t hidden, const TowerShape& shape,
               const TowerTraining& training)
      : config_(config),
        shape_(shape),
        training_(training),
        keeps_(OfAdapters(training), shape.number_bytes, shape.with_graph),
        positions_(shape.positions > 0 ? shape.positions : config.positions()),
        lines_(shape.rows * positions_),
        patches_(shape.rows * config.patches()),
        pixels_(patches_ * 3 * config.patch * config.patch),
        width_(config.width),
        hidden_(hidden) {
    bool x = has_gradient_in();
    for (const TowerTraining::Layer& layer : training.layers) {
      has_.emplace_back(layer, x);
      x = has_.back().out;
    }
    gives_ = x;
  }

  // The cut patches, in float first; what they are mapped to, beside CLIP's first vector, and with their
  // positions; of CLIP the norm.
  ForwardPart Embedded() const {
    const std::int64_t out = lines_ * width_, in_float = is_half() ? InFloat(pixels_) : 0;
    const bool is_clip = config_.kind == TowerKind::kClip;
    const std::int64_t kernel_kept = If(training_.kernel, pixels_),
                       norm_kept = If(is_clip && has_gradient_in(), out + Statistics());
    return {.kept = kernel_kept + norm_kept,
            .forward = pixels_ - kernel_kept + in_float + (is_clip ? 3 : 2) * out + NormWeights() +
                       (shape_.goes_wide ? InFloat(pixels_) + out : 0),
            .backward = 4 * out + (shape_.goes_wide ? InFloat(pixels_ + 2 * out) : 0),
            .product = out};
  }

  // Input, norm; queries, keys, values and what attention makes of them; what is added, and the sum.
  ForwardPart Attention(std::size_t index) const {
    const TowerTraining::Layer& layer = training_.layers[index];
    const TowerGradients& has = has_[index];
    const bool normed_kept = keeps_.Input(layer.q) || keeps_.Input(layer.k) || keeps_.Input(layer.v);
    const std::int64_t kept = If(has.normed, lines_ * width_ + Statistics()) +
                              If(normed_kept, lines_ * width_) +
                              If(has.attended, lines_ * 4 * width_ + InFloat(lines_ * config_.heads)) +
                              If(!has.attended && keeps_.Input(layer.out), lines_ * width_) +
                              lines_ * keeps_.Adapters({keeps_.Adapter(layer.q, width_, has.normed),
                                                        keeps_.Adapter(layer.k, width_, has.normed),
                                                        keeps_.Adapter(layer.v, width_, has.normed),
                                                        keeps_.Adapter(layer.out, width_, has.attended)});
    const std::int64_t ranks = layer.q.rank + layer.k.rank + layer.v.rank + layer.out.rank;
    ForwardPart part{
        .kept = kept,
        .forward = Unkept(lines_ * 6 * width_ + Statistics() + InFloat(lines_ * config_.heads), kept) +
                   lines_ * 2 * width_ + NormWeights() + Dropping(ranks, width_) + Wide(width_, width_),
        .backward = lines_ * (6 * width_ + If(!normed_kept, width_) + ranks) + Dropping(ranks, width_) +
                    Wide(width_, width_),
        .layer_input = lines_ * width_,
        .product = lines_ * width_,
        .attention = AttentionShape{.rows = shape_.rows,
                                    .heads = config_.heads,
                                    .kv_heads = config_.heads,
                                    .head_dim = width_ / config_.heads,
                                    .queries = positions_,
                                    .seen = positions_,
                                    .fused = true,
                                    .later = lines_ * width_}};
    if (is_half() && !shape_.on_gpu && HasShortHeads(width_ / config_.heads))
      part.backward += InFloat(HalfAttentionFloats(positions_, positions_, width_, width_));
    return part;
  }

  // Input, norm; inside before and behind the activation; what is added, and the sum.
  ForwardPart FeedForward(std::size_t index) const {
    const TowerTraining::Layer& layer = training_.layers[index];
    const TowerGradients& has = has_[index];
    const std::int64_t inner = lines_ * config_.ffn;
    const std::int64_t kept = If(has.fed, lines_ * width_ + Statistics()) +
                              If(keeps_.Input(layer.up), lines_ * width_) + If(has.inside, inner) +
                              If(keeps_.Input(layer.down), inner) +
                              lines_ * keeps_.Adapters({keeps_.Adapter(layer.up, width_, has.fed),
                                                        keeps_.Adapter(layer.down, config_.ffn, has.inside)});
    const std::int64_t ranks = layer.up.rank + layer.down.rank;
    return {.kept = kept,
            .forward = Unkept(lines_ * 2 * width_ + Statistics() + 2 * inner, kept) + lines_ * 2 * width_ +
                       NormWeights() + Activating(inner) + Dropping(ranks, std::max(width_, config_.ffn)) +
                       Wide(width_, config_.ffn),
            .backward = 4 * inner + lines_ * (2 * width_ + ranks) + 2 * Activating(inner) +
                        Dropping(ranks, std::max(width_, config_.ffn)) + Wide(width_, config_.ffn),
            .product = std::max(inner / 2, lines_ * width_)};
  }

  // Without CLIP's first vector a copy; inside before and behind the activation; what comes out.
  ForwardPart Projected() const {
    const Map &in = training_.projector_in, &out = training_.projector_out;
    const bool inside = gives_ || in.any();
    const std::int64_t inner = patches_ * hidden_;
    const std::int64_t kept =
        If(in.weight, patches_ * width_) + If(inside, inner) + If(out.weight, inner) + OutputNumbers();
    return {.kept = kept,
            .forward = Unkept((lines_ + patches_) * width_ + 3 * inner, kept) + Activating(inner) +
                       Wide(std::max(width_, hidden_), hidden_),
            .backward = 4 * inner + 2 * patches_ * width_ + 2 * Activating(inner) +
                        Wide(std::max(width_, hidden_), hidden_),
            .output = OutputNumbers(),
            .product = inner};
  }
  std::int64_t OutputNumbers() const { return patches_ * hidden_; }
  bool gives() const { return gives_; }
  // Of what the layers read.
  bool has_gradient_in() const { return shape_.carried || training_.patch || training_.norm_in; }
  // Whether a part of so many numbers goes back.
  bool HasGraph(std::size_t layer) const { return shape_.with_graph && has_[layer].out; }

 private:
  static LanguageTraining OfAdapters(const TowerTraining& training) {
    LanguageTraining adapters;
    adapters.dropout = training.dropout;
    return adapters;
  }
  static std::int64_t Unkept(std::int64_t all, std::int64_t kept) {
    return std::max<std::int64_t>(all - kept, 0);
  }
  bool is_half() const { return IsHalf(shape_.number_bytes); }
  std::int64_t InFloat(std::int64_t count) const { return Floats(count, shape_.number_bytes); }
  // Of a norm; beside a half type its weights in float too.
  std::int64_t Statistics() const { return InFloat(2 * lines_) + NormWeights(); }
  std::int64_t NormWeights() const { return is_half() ? InFloat(2 * width_) : 0; }
  // What x * sigmoid(1.702 x) has beside its input and its output: in float.
  std::int64_t Activating(std::int64_t inner) const {
    if (config_.activation != Activation::kQuickGelu) return 0;
    return is_half() ? InFloat(2 * inner) : inner;
  }
  // Copies in float of what goes in and comes out.
  std::int64_t Wide(std::int64_t in, std::int64_t out) const {
    return shape_.goes_wide ? InFloat(lines_ * (in + 2 * out) + in * out) : 0;
  }
  std::int64_t Dropping(std::int64_t ranks, std::int64_t width) const {
    if (training_.dropout == 0 || ranks == 0) return 0;
    return lines_ * width +
           InNumbers(Dropout::WorkspaceBytes(lines_, width, shape_.on_gpu), shape_.number_bytes);
  }

  const TowerConfig& config_;
  const TowerShape& shape_;
  const TowerTraining& training_;
  Keeps keeps_;
  std::vector<TowerGradients> has_;  // by layer
  std::int64_t positions_, lines_, patches_, pixels_, width_, hidden_;
  bool gives_ = false;  // what comes out has a gradient
};

// `output`: what is left without a graph.
void AddPart(std::vector<ForwardPart>& parts, ForwardPart part, const std::string& parameters, bool has_graph,
             std::int64_t output, int layer = -1) {
  if (!has_graph) part = WithoutGraph(std::move(part), output);
  part.layer = layer;
  part.parameters = parameters;
  parts.push_back(std::move(part));
}

void AddLayers(std::vector<ForwardPart>& parts, const TowerNumbers& numbers, const std::string& root,
               std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::string layer = root + "encoder.layers." + std::to_string(i) + ".";
    const bool has_graph = numbers.HasGraph(i);
    AddPart(parts, numbers.Attention(i), layer + "self_attn.", has_graph, 0, static_cast<int>(i));
    AddPart(parts, numbers.FeedForward(i), layer + "mlp.", has_graph, 0, static_cast<int>(i));
  }
}

}  // namespace

std::vector<ForwardPart> Footprint(const TowerConfig& config, const std::string& tower,
                                   const std::string& projector, std::int64_t hidden, const TowerShape& shape,
                                   const TowerTraining& training) {
  const TowerNumbers numbers(config, hidden, shape, training);
  std::vector<ForwardPart> parts;
  AddPart(parts, numbers.Embedded(), tower + "embeddings.", shape.with_graph && numbers.has_gradient_in(), 0);
  AddLayers(parts, numbers, tower, training.layers.size());
  const bool projects = training.projector_in.any() || training.projector_out.any() || numbers.gives();
  AddPart(parts, numbers.Projected(), projector, shape.with_graph && projects, numbers.OutputNumbers());
  return parts;
}

std::vector<ForwardPart> LayersFootprint(const TowerConfig& config, const std::string& root,
                                         const TowerShape& shape, const TowerTraining& training) {
  const TowerNumbers numbers(config, 0, shape, training);
  std::vector<ForwardPart> parts;
  AddLayers(parts, numbers, root, training.layers.size());
  return parts;
}

}  // namespace medley
