#pragma once

#include <cstdint>
#include <initializer_list>

#include <medley/model/blocks/language_config.h>
#include <medley/model/blocks/language_training.h>

namespace medley {

// What the backward of a Language's layer needs, by what is trained: for its footprint.

// What of a layer has a gradient, by what is trained in it and before it.
struct HasGradient {
  bool x = true;                                   // the layer's input
  bool seen = true, q = true, k = true, v = true;  // maps' outputs; `seen`: their input, prefix and text
  bool attended = true, y = true, inside = true;   // y: what the feed-forward part gets

  HasGradient(const LanguageTraining::Layer& layer, bool x, bool has_prefix)
      : x(x),
        seen(x || has_prefix || layer.input_norm),
        q(x || layer.input_norm || layer.q.any()),
        k(seen || layer.k.any()),
        v(seen || layer.v.any()),
        attended(q || k || v || layer.q_norm || layer.k_norm),
        y(attended || layer.o.any()),
        inside(y || layer.post_norm || layer.gate.any() || layer.up.any()) {}
};

// Numbers that maps and norms keep of a position, where they do.
class Keeps {
 public:
  using Map = LanguageTraining::Map;
  Keeps(const LanguageTraining& training, std::int64_t number_bytes, bool with_graph)
      : drops_(training.dropout > 0), with_graph_(with_graph), number_bytes_(number_bytes) {}

  bool Input(const Map& map) const { return map.weight || (map.rank > 0 && !drops_); }
  bool Input(const Map& a, const Map& b) const { return Input(a) || Input(b); }
  // Numbers of an adapter: what is between its two products; its input, where some of it is dropped, and a
  // mask where that has a gradient.
  std::int64_t Adapter(const Map& map, std::int64_t width, bool has_gradient) const {
    if (map.rank == 0) return 0;
    const std::int64_t mask = has_gradient ? (width + number_bytes_ - 1) / number_bytes_ : 0;
    return map.rank + (drops_ ? width + mask : 0);
  }
  // What adapters with these numbers keep together; without a graph what the widest of them takes, as each
  // ends before the next begins.
  std::int64_t Adapters(std::initializer_list<std::int64_t> numbers) const;
  // Numbers of an RmsNorm, beside its output, and its input where that has a gradient: the product before the
  // weight, and `scales` of them. Of a half type no product, but scales, in float, and the input for either
  // gradient.
  std::int64_t Norm(bool input, bool weight, std::int64_t width, std::int64_t scales) const;

 private:
  bool drops_, with_graph_;
  std::int64_t number_bytes_;
};

// `numbers` where they are kept.
constexpr std::int64_t If(bool kept, std::int64_t numbers) { return kept ? numbers : 0; }

// Numbers of a position that is a key only: what adapters keep of it, and what the norm of the keys does.
std::int64_t KeyNumbers(const LanguageConfig& config, const LanguageTraining::Layer& layer,
                        const Keeps& keeps, const HasGradient& has);

// The same with all of it trained: without a graph everything is there for a moment only, trained or not.
LanguageTraining AllTrained(const LanguageTraining& training);

}  // namespace medley
