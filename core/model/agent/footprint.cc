#include <medley/model/agent/agent.h>

#include <algorithm>

namespace medley {

// Counts the tensors that the operators save for their backward, in elements of the parameters' type:
//   text layer   a text position: input, norm, queries before and after RoPE, attention out, sum, norm, gate,
//   up and
//                their product; a seen position (prefix and text): norm, keys twice, values
//   vision layer a patch: input, norm, 3 projections, attention out, sum, norm, hidden (ReLU in place)
// plus what single ends need. Without a graph only what is alive at the widest place counts.
std::int64_t Agent::Footprint(const ForwardShape& shape) const {
  const AgentConfig::Language& language = config_.language;
  const std::int64_t hidden = language.hidden, queries = language.heads * language.head_dim,
                     keys = language.kv_heads * language.head_dim;
  const std::int64_t grid = config_.image.size / config_.image.patch, patches = grid * grid;
  const std::int64_t pixels = 3 * config_.image.size * config_.image.size;
  const std::int64_t prefix = PrefixLength(shape.images), width = shape.text_width;
  const std::int64_t seen = prefix + width;

  const std::int64_t text_layer = width * (4 * hidden + 3 * queries + 3 * language.ffn + language.heads) +
                                  seen * (hidden + 3 * keys) + prefix;
  const auto vision_layer = [&](const AgentConfig::Stack& stack) {
    return patches * (7 * hidden + stack.ffn + stack.heads + 4);
  };
  const std::int64_t cross = patches * (4 * hidden + config_.decoder.heads + 2) + width * 2 * hidden;
  const std::int64_t encoder =
      patches * (5 * hidden + 4) + pixels;  // the cut patches are a copy of the picture
  const std::int64_t decoder = patches * (2 * hidden + 2) + 2 * pixels;

  std::int64_t row = 0;
  if (shape.with_graph) {
    row += language.layers * text_layer + width * 2 * hidden + prefix * hidden;
    row += shape.images * (encoder + config_.encoder.layers * vision_layer(config_.encoder));
    if (shape.decodes_image)
      row += decoder + config_.decoder.layers * (vision_layer(config_.decoder) + cross);
  } else {
    row += prefix * hidden +
           std::max({text_layer, vision_layer(config_.encoder) + encoder,
                     shape.decodes_image ? vision_layer(config_.decoder) + cross + decoder : 0});
  }
  const std::int64_t logits = shape.supervised * (vocabulary_ + 2 * hidden);
  const std::int64_t mask = width * seen;
  const std::int64_t bytes = static_cast<std::int64_t>(parameters_.list().front().tensor.element_size());
  return (shape.rows * row + logits + mask) * bytes;
}

}  // namespace medley
