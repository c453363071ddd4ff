#include <medley/model/agent/agent.h>

#include <algorithm>

namespace medley {

// Elements, in the parameters' type, of what the operators keep for their backward. "Norm" below is what a
// RmsNorm keeps of its own (the product before the weight, and a scale); its input and output belong to their
// neighbours.
std::int64_t Agent::Footprint(const ForwardShape& shape) const {
  const AgentConfig::Language& language = config_.language;
  const std::int64_t hidden = language.hidden, heads = language.heads, kv_heads = language.kv_heads,
                     queries = heads * language.head_dim, keys = kv_heads * language.head_dim;
  const std::int64_t grid = config_.image.size / config_.image.patch, patches = grid * grid;
  const std::int64_t pixels = 3 * config_.image.size * config_.image.size;
  const std::int64_t prefix = PrefixLength(shape.images), width = shape.text_width;
  const std::int64_t norm = hidden + 1;

  // A text position: input, norm, its output; queries, their norm, turned; attention out, its log-sum,
  // and joined (a copy).
  const std::int64_t attend = 2 * hidden + norm + 5 * queries + 2 * heads;
  // Prefix and text as one: joined (a copy where there is a prefix); keys like queries; values. Of the prefix
  // a norm.
  const std::int64_t seen =
      (prefix + width) * ((prefix > 0 ? hidden : 0) + 4 * keys + kv_heads) + prefix * norm;
  // After the attention: sum, norm, its output; gate, silu, up, product.
  const std::int64_t mlp = 2 * hidden + norm + 4 * language.ffn;
  // Input, 3 projections, attention out and its log-sum, sum, output; hidden (ReLU in place), sum; 2
  // LayerNorms.
  const auto vision_layer = [&](const AgentConfig::Stack& stack) {
    return patches * (8 * hidden + stack.ffn + stack.heads + 4);
  };
  // Queries, attention out and its log-sum, sum, output, a LayerNorm; keys and values of the text.
  const std::int64_t cross = patches * (4 * hidden + config_.decoder.heads + 2) + width * 2 * hidden;
  // The cut patches; sum, norm; last output, norm; encoding.
  const std::int64_t encoder = pixels + patches * (3 * hidden + 4);
  // Last output, norm, its output; the picture; the mask.
  const std::int64_t decoder = patches * (2 * hidden + 2) + pixels + width;

  // Where only logits are wanted, the last layer goes on with the supervised positions alone.
  const bool selects = !shape.decodes_image;
  const std::int64_t ends = 2 * hidden + norm;  // last output, norm, its output
  std::int64_t row = prefix * hidden, items = shape.supervised * (vocabulary_ + 4);  // and indices
  items += shape.supervised * (selects ? queries + mlp + ends : hidden);
  if (shape.with_graph) {
    row += language.layers * (width * (attend + mlp) + seen) +
           (selects ? -width * (queries + mlp) : width * ends);
    row += shape.images * (encoder + config_.encoder.layers * vision_layer(config_.encoder));
    if (shape.decodes_image)
      row += decoder + config_.decoder.layers * (vision_layer(config_.decoder) + cross);
  } else {  // what is alive at the widest place
    row += std::max({width * (attend + mlp) + seen, vision_layer(config_.encoder) + encoder,
                     shape.decodes_image ? vision_layer(config_.decoder) + cross + decoder : 0});
  }
  const std::int64_t mask = width * (prefix + width);
  const std::int64_t bytes = static_cast<std::int64_t>(parameters_.list().front().tensor.element_size());
  return (shape.rows * row + items + mask) * bytes;
}

}  // namespace medley
