#include <medley/model/blocks/footprint.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <medley/model/blocks/half_operators.h>

namespace medley {
namespace {

// A part's parameters begin with its name. The published names of a layer's norms do not.
class Names {
 public:
  explicit Names(const std::string& part) : part_(part) {
    for (const auto& [end, norm] : kNorms) {
      if (part.ends_with(end)) norms_.push_back(part.substr(0, part.size() - end.size()) + std::string(norm));
    }
  }
  bool operator()(const std::string& parameter) const {
    const auto begins = [&](const std::string& name) { return parameter.starts_with(name); };
    return begins(part_) || std::ranges::any_of(norms_, begins);
  }

 private:
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNorms = {
      {{"self_attn.", "input_layernorm."},
       {"mlp.", "post_attention_layernorm."},
       {"self_attn.", "layer_norm1."},
       {"mlp.", "layer_norm2."},
       {"embeddings.", "pre_layrnorm."}}};
  const std::string& part_;
  std::vector<std::string> norms_;
};

// What is kept was counted tensor by tensor; what is alive beside it is the widest place of each part, found
// with the counting allocator.
class LayerNumbers {
 public:
  LayerNumbers(const TransformerLayer::Setting& setting, const LayerShape& shape)
      : setting_(setting), shape_(shape), lines_(shape.rows * shape.positions), width_(setting.width) {}

  // Input, norm, 3 projections, attention out, sum; the log-sum of fused attention.
  ForwardPart Self() const {
    ForwardPart part{.kept = lines_ * 6 * width_ + Statistics() + Mask(width_),
                     .forward = Added() + Workspace(width_),
                     .backward = lines_ * 5 * width_,
                     .layer_input = lines_ * width_,
                     .product = lines_ * 2 * width_};  // of 3; what attention gives is not there yet
    AddAttention(part, shape_.positions, shape_.masked);
    return part;
  }
  // Norm, queries, attention out, sum; keys and values of the context.
  ForwardPart Cross() const {
    const std::int64_t seen = shape_.rows * shape_.context;
    ForwardPart part{.kept = lines_ * 4 * width_ + Statistics() + seen * 2 * width_ + Mask(width_),
                     .forward = Added() + Workspace(width_),
                     .backward = lines_ * 3 * width_ + seen * 5 * width_,
                     .product = std::max(lines_ * width_, seen * 2 * width_)};
    AddAttention(part, shape_.context, shape_.masked);
    return part;
  }
  // Norm, inside, sum. GELUs keep their input too, and what is dropped inside is there once more: that is not
  // yet there while the product runs. ReLU works in place on a view, whose backward copies the gradient
  // twice.
  ForwardPart Ffn() const {
    const std::int64_t inner = lines_ * setting_.ffn;
    const bool twice = setting_.activation != Activation::kRelu || drops();
    return {.kept = lines_ * 2 * width_ + Statistics() + inner + (twice ? inner : 0) + Mask(setting_.ffn) +
                    Mask(width_),
            .forward = Added() + (setting_.activation != Activation::kRelu && drops() ? inner : 0) +
                       Workspace(std::max(width_, setting_.ffn)),
            .backward = 4 * inner + lines_ * width_,
            .product = std::max(twice ? inner / 2 : inner, lines_ * width_)};
  }

 private:
  bool drops() const { return setting_.dropout > 0; }
  // Of a norm; beside a half type its weights in float too.
  std::int64_t Statistics() const {
    return Floats(2 * lines_ + (IsHalf(shape_.number_bytes) ? 2 * width_ : 0), shape_.number_bytes);
  }
  // What is added to the sum; and where the norm is behind it, what that makes.
  std::int64_t Added() const { return lines_ * width_ * (setting_.pre_norm ? 1 : 2); }
  std::int64_t Mask(std::int64_t width) const {
    return drops() ? InNumbers(lines_ * width, shape_.number_bytes) : 0;
  }
  std::int64_t Workspace(std::int64_t width) const {
    return drops() ? InNumbers(Dropout::WorkspaceBytes(lines_, width, shape_.on_gpu), shape_.number_bytes)
                   : 0;
  }

  // Eager: the weights, and with dropout their mask and what is left of them; for a moment the scores, and
  // under a mask as many again.
  void AddAttention(ForwardPart& part, std::int64_t seen, bool masked) const {
    const std::int64_t lines = lines_ * setting_.heads, weights = lines * seen;
    part.attention = {.rows = shape_.rows,
                      .heads = setting_.heads,
                      .kv_heads = setting_.heads,
                      .head_dim = width_ / setting_.heads,
                      .queries = shape_.positions,
                      .seen = seen,
                      .fused = setting_.attention == AttentionKind::kFused,
                      .later = Added()};
    if (setting_.attention == AttentionKind::kFused) {
      part.kept += Floats(lines, shape_.number_bytes);
      const bool goes_in_float =
          IsHalf(shape_.number_bytes) && !shape_.on_gpu && HasShortHeads(width_ / setting_.heads);
      if (goes_in_float)
        part.backward +=
            Floats(HalfAttentionFloats(shape_.positions, seen, width_, width_), shape_.number_bytes);
      return;
    }
    part.kept += weights;
    part.forward +=
        weights + (masked ? weights + InNumbers(weights, shape_.number_bytes) : 0) +
        (lines_ + shape_.rows * seen) * 2 * width_;  // copies, of which a head's lines stand together
    part.backward += 2 * weights;
    if (!drops()) return;
    part.kept += weights + InNumbers(weights, shape_.number_bytes);
    part.forward += InNumbers(Dropout::WorkspaceBytes(lines, seen, shape_.on_gpu), shape_.number_bytes);
    part.backward += weights;
  }

  const TransformerLayer::Setting& setting_;
  const LayerShape& shape_;
  std::int64_t lines_, width_;
};

}  // namespace

ForwardPart WithoutGraph(ForwardPart part, std::int64_t output) {
  part.forward += std::max<std::int64_t>(part.kept - output, 0);
  part.kept = output;
  part.prefix = std::min(part.prefix, output);
  part.logits = std::min(part.logits, output);
  part.backward = part.layer_input = 0;
  return part;
}

std::int64_t InNumbers(std::int64_t bytes, std::int64_t number_bytes) {
  return (bytes + number_bytes - 1) / number_bytes;
}

std::int64_t Floats(std::int64_t count, std::int64_t number_bytes) {
  constexpr std::int64_t kFloatBytes = 4;
  return number_bytes < kFloatBytes ? InNumbers(kFloatBytes * count, number_bytes) : count;
}

// A gradient of a half type is there for a moment before it is one in float; that of a lookup is made in
// float.
void InBytes(std::vector<ForwardPart>& parts, const std::vector<Parameter>& parameters) {
  const auto size = static_cast<std::int64_t>(parameters.front().tensor.element_size());
  std::vector<const Parameter*> trained;  // asked once: parts are many, and an estimate has many footprints
  for (const Parameter& parameter : parameters) {
    if (parameter.tensor.requires_grad()) trained.push_back(&parameter);
  }
  for (ForwardPart& part : parts) {
    for (std::int64_t* numbers : {&part.kept, &part.forward, &part.backward, &part.prefix, &part.logits,
                                  &part.output, &part.layer_input})
      *numbers *= size;
    if (part.attention) part.attention->later *= size;
    std::int64_t in_half = 0;
    const Names names(part.parameters);
    for (const Parameter* parameter : trained) {
      if (!names(parameter->name)) continue;
      const auto bytes = static_cast<std::int64_t>(parameter->tensor.nbytes());
      const std::int64_t in_float = bytes / size * Floats(1, size) * size;
      part.gradients += in_float;
      part.largest_gradient = std::max(part.largest_gradient, in_float);
      // Without logits at once it is looked up, or its losses are made piece by piece.
      const bool is_in_float = part.logits == 0 && (part.parameters.ends_with("embed_tokens.") ||
                                                    part.parameters.ends_with("lm_head."));
      if (in_float > bytes && !is_in_float) in_half = std::max(in_half, bytes);
    }
    part.backward += in_half;
  }
}

std::vector<ForwardPart> Footprint(const TransformerLayer::Setting& setting, const std::string& name,
                                   int index, const LayerShape& shape) {
  const LayerNumbers numbers(setting, shape);
  std::vector<ForwardPart> parts;
  const auto add = [&](ForwardPart part, const char* what) {
    if (!shape.with_graph) {
      part = WithoutGraph(std::move(part), 0);
      part.forward += Floats(2 * shape.rows * shape.positions, shape.number_bytes);  // a norm's statistics
      // Behind the first sum the layer's input is still there for who called it.
      if (setting.pre_norm && !parts.empty()) part.forward += shape.rows * shape.positions * setting.width;
    }
    part.layer = index;
    part.parameters = name + what;
    parts.push_back(std::move(part));
  };
  add(numbers.Self(), ".self_");
  if (setting.cross) add(numbers.Cross(), ".cross_");
  add(numbers.Ffn(), ".ffn");
  return parts;
}

}  // namespace medley
