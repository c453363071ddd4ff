#include <medley/model/blocks/footprint.h>
#include <medley/model/blocks/half_operators.h>
#include <medley/model/blocks/operators.h>

#include <algorithm>
#include <utility>

namespace medley {
namespace {

// Of all rows. "Norm" below is what an RmsNorm keeps of its own, the product before the weight and a scale;
// its input and output belong to their neighbours. Of a half type it is the scale alone, in float.
class TextNumbers {
 public:
  TextNumbers(const LanguageConfig& config, std::int64_t vocabulary, const TextShape& shape)
      : config_(config),
        shape_(shape),
        hidden_(config.hidden),
        queries_(config.heads * config.head_dim),
        keys_(config.kv_heads * config.head_dim),
        prefix_(shape.prefix - shape.shared),
        vocabulary_(vocabulary),
        products_(shape.number_bytes < 4 ? 0 : 1) {}

  // What stands in front of the text; the text is its first layer's input. Gradients of what is shared wait
  // meanwhile.
  ForwardPart Embedded() const {
    const std::int64_t rows = shape_.rows;
    ForwardPart part{.kept = rows * prefix_ * hidden_ + Places() + LookedUpBeside(),
                     .forward = rows * shape_.width * hidden_,
                     .backward = rows * ((2 * prefix_ + shape_.width) * hidden_ +
                                         shape_.shared * config_.layers * 2 * keys_),
                     .prefix = rows * prefix_ * hidden_};
    // The words of the text and those around it each have a gradient of the whole table. The sum of the first
    // two is a third, but where they were made for it: of a half type, in float, as what they look up.
    if (is_half())
      part.backward += InFloat(rows * shape_.width * hidden_);
    else if (shape_.embeds_more || shape_.supervised > 0)
      part.backward += vocabulary_ * hidden_;
    return part;
  }

  // Prefix and text are projected as one.
  ForwardPart Attention() const {
    const std::int64_t rows = shape_.rows, width = shape_.width, seen = shape_.prefix + width;
    const std::int64_t norm = products_ * hidden_ + InFloat(1);
    // Of a position: input, norm, its output; queries, their norm, turned (without a norm only that);
    // attention out, its log-sum or weights.
    const std::int64_t weights = is_eager() ? config_.heads * seen : InFloat(config_.heads);
    const std::int64_t normed = config_.qk_norm ? (1 + products_) * queries_ + InFloat(config_.heads) : 0;
    const std::int64_t own = 2 * hidden_ + norm + 2 * queries_ + normed + weights;
    // Joined with the prefix (a copy where there is one); keys like queries; values.
    const std::int64_t of_seen = (prefix_ > 0 ? hidden_ : 0) + KeysAndValues();
    const std::int64_t of_shared = 2 * (RepeatsKeys() ? queries_ : keys_);
    const std::int64_t prefix = rows * (prefix_ * (of_seen + norm) + shape_.shared * of_shared);
    ForwardPart part{
        .kept = prefix + rows * width * (own + of_seen),
        .forward = rows * seen * 2 * keys_,
        .backward = rows * (seen * 4 * keys_ + prefix_ * hidden_ + width * 2 * hidden_ + RepeatedGradients()),
        .prefix = prefix,
        .layer_input = rows * width * hidden_};
    // Turned in float by libtorch's operators: the products with cosines, the halves swapped, and the sum.
    if (is_half() && !config_.qk_norm) {
      const std::int64_t turned = std::max(width * queries_, seen * keys_);
      part.forward += rows * (InFloat(2 * turned) + turned);
    }
    if (is_eager()) {  // the scores, and as many again where they are masked; a byte each says which
      const std::int64_t scores = rows * width * weights;
      part.forward += 2 * scores + InNumbers(scores, shape_.number_bytes) + rows * width * 2 * queries_;
      part.backward += 2 * scores;
    }
    if (!is_eager() && is_half() && !shape_.on_gpu && HasShortHeads(config_.head_dim))
      part.backward += InFloat(HalfAttentionFloats(width, seen, queries_, keys_));
    return part;
  }
  // Where it `selects`, of the supervised positions alone, which are copied. Sum, norm, its output; gate,
  // silu, up, product.
  ForwardPart FeedForward(bool selects) const {
    const std::int64_t fed = Positions(selects);
    // With a graph, attention's part keeps what it gave.
    const std::int64_t attended = shape_.with_graph || selects ? 0 : fed * queries_;
    return {.kept = fed * ((2 + products_) * hidden_ + InFloat(1) + (3 + products_) * config_.ffn +
                           (selects ? queries_ : 0)),
            .forward = fed * hidden_ + attended,
            .backward = fed * (2 * config_.ffn + 2 * hidden_)};
  }

  // Last output, norm, its output.
  ForwardPart Out() const {
    const std::int64_t positions = Positions(shape_.selects);
    return {.kept = positions * ((2 + products_) * hidden_ + InFloat(1)),
            .backward = positions * 2 * hidden_};
  }
  // Where not only those are computed, the hidden states of the items are picked out; and indices.
  ForwardPart Logits() const {
    const std::int64_t items = shape_.supervised, picked = shape_.selects ? 0 : items * hidden_;
    const std::int64_t half = is_half() ? items * vocabulary_ : 0;  // before they are in float
    return {.kept = InFloat(items * (vocabulary_ + 4)) + picked,
            .forward = half,
            .backward = half + items * hidden_ + (shape_.selects ? 0 : Positions(false) * hidden_),
            .logits = InFloat(items * vocabulary_)};
  }

  // One layer's keys and values, where a text goes on after its forward.
  std::int64_t Cache() const {
    return shape_.cached > 0 ? shape_.rows * (shape_.prefix + shape_.cached) * 2 * keys_ : 0;
  }
  std::int64_t OutputNumbers() const { return shape_.selects ? 0 : Positions(false) * hidden_; }

 private:
  std::int64_t Positions(bool selects) const {
    return selects ? shape_.supervised : shape_.rows * shape_.width;
  }
  // What the lookup may have beside the text's tokens. At most, so that more rows never take less.
  std::int64_t LookedUpBeside() const {
    return shape_.on_gpu && shape_.with_graph ? kMostPaddedIds * hidden_ : 0;
  }
  // Where queries and keys stand, and what sees what.
  std::int64_t Places() const {
    const std::int64_t width = shape_.width, seen = prefix_ + width;
    const std::int64_t queries = RepeatsTurns(config_.head_dim) ? config_.heads : 1;
    return width * (shape_.shared + seen) + InFloat(2 * width * config_.head_dim * queries) +
           KeyTurns(config_, seen, shape_.number_bytes);
  }
  bool is_eager() const { return config_.attention == AttentionKind::kEager; }
  bool is_half() const { return products_ == 0; }
  std::int64_t InFloat(std::int64_t count) const { return Floats(count, shape_.number_bytes); }
  // Eager, and on a GPU in fp32, keys and values of fewer heads are copied for the heads of the queries.
  bool RepeatsKeys() const {
    return ((shape_.on_gpu && !is_half()) || is_eager()) && config_.kv_heads != config_.heads;
  }
  std::int64_t RepeatedGradients() const {
    return RepeatsKeys() ? 2 * queries_ * (shape_.prefix + shape_.width) : 0;
  }
  std::int64_t KeysAndValues() const {
    return KeysForNorm(config_, shape_.number_bytes) + 2 * (RepeatsKeys() ? queries_ : keys_);
  }

  const LanguageConfig& config_;
  const TextShape& shape_;
  std::int64_t hidden_, queries_, keys_, prefix_, vocabulary_;
  std::int64_t products_;  // that are kept of a norm, or of a gate: 0 or 1
};

}  // namespace

std::int64_t KeysForNorm(const LanguageConfig& config, std::int64_t number_bytes) {
  if (!config.qk_norm) return 0;
  const std::int64_t keys = config.kv_heads * config.head_dim;
  return (number_bytes < 4 ? 1 : 2) * keys + Floats(config.kv_heads, number_bytes);
}

std::int64_t KeyTurns(const LanguageConfig& config, std::int64_t positions, std::int64_t number_bytes) {
  const std::int64_t heads = RepeatsTurns(config.head_dim) ? config.kv_heads : 1;
  return Floats(2 * positions * config.head_dim * heads, number_bytes);
}

std::vector<ForwardPart> Footprint(const LanguageConfig& config, std::int64_t vocabulary,
                                   const std::string& root, const TextShape& shape) {
  const TextNumbers numbers(config, vocabulary, shape);
  const std::string body = root + "model.";
  std::vector<ForwardPart> parts;
  // `output`: what is left without a graph.
  const auto add = [&](ForwardPart part, const std::string& parameters, std::int64_t output, int layer = -1) {
    if (!shape.with_graph) part = WithoutGraph(std::move(part), output);
    part.layer = layer;
    part.parameters = parameters;
    parts.push_back(std::move(part));
  };
  const ForwardPart embedded = numbers.Embedded();
  add(embedded, body + "embed_tokens.", embedded.kept);
  for (int i = 0; i < config.layers; ++i) {
    const std::string layer = body + "layers." + std::to_string(i) + ".";
    add(numbers.Attention(), layer + "self_attn.", 0, i);
    parts.back().kept += numbers.Cache();
    parts.back().prefix += numbers.Cache();
    add(numbers.FeedForward(shape.selects && i + 1 == config.layers), layer + "mlp.", 0, i);
  }
  add(numbers.Out(), body + "norm.", numbers.OutputNumbers());
  if (shape.supervised > 0) {
    add(numbers.Logits(), config.tied ? body + "embed_tokens." : root + "lm_head.",
        Floats(shape.supervised * (vocabulary + 4), shape.number_bytes));
  }
  return parts;
}

}  // namespace medley
