#include <medley/model/blocks/language.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/blocks/fused.h>
#include <medley/model/float_type.h>
#include <medley/model/products.h>

namespace medley {
namespace {

// With ones, the attention of an untrained agent is nearly uniform over a picture, and a small object in it
// is long overlooked.
constexpr double kHeadNormGain = 1.7;

at::Tensor Behind(std::vector<at::Tensor> pieces, const at::Tensor& last) {
  pieces.push_back(last);
  return at::cat(pieces, 2);
}

}  // namespace

Language::Language(ParameterSet& set, const LanguageConfig& config, std::int64_t vocabulary,
                   std::int64_t positions, const std::string& root)
    : config_(config), dropout_(set.adapters().lora.dropout) {
  if (config.rope_scaling.low_freq_factor >= config.rope_scaling.high_freq_factor)
    throw InputError("model: language.rope_low_freq_factor must be below rope_high_freq_factor");
  if (const std::int64_t least = LossPieces::ItemBytes(vocabulary); config.loss_bytes < least)
    throw InputError("model: language.loss_bytes is " + std::to_string(config.loss_bytes) +
                     ", but the logits of one item and what its loss makes of them take " +
                     std::to_string(least) + " bytes (12 for each of " + std::to_string(vocabulary) +
                     " words); set it to that or more");
  const std::string body = root + "model.";
  set.BeginBase(root);
  const std::int64_t hidden = config.hidden, queries = config.heads * config.head_dim,
                     keys = config.kv_heads * config.head_dim;
  // What is added to the residual stream starts smaller the more layers add to it.
  const double residual = 1 / std::sqrt(2.0 * static_cast<double>(config.layers));
  // A word must weigh something beside what attention adds to it; at width 1024 this is near the published
  // 0.02.
  const double embedding = 1 / std::sqrt(static_cast<double>(hidden));
  const bool bias = config.attention_bias != AttentionBias::kNone;
  embedding_ = set.Normal(body + "embed_tokens.weight", {vocabulary, hidden}, embedding);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string name = body + "layers." + std::to_string(i) + ".";
    const auto linear = [&](const std::string& part, std::int64_t in, std::int64_t out, double gain = 1,
                            bool bias = false) { return Linear(set, name + part, in, out, bias, gain); };
    const auto norm = [&](const std::string& part, std::int64_t dim, double gain = 1) {
      return set.Constant(name + part + ".weight", {dim}, gain);
    };
    Layer layer;
    layer.input_norm = norm("input_layernorm", hidden);
    layer.q = linear("self_attn.q_proj", hidden, queries, 1, bias);
    layer.k = linear("self_attn.k_proj", hidden, keys, 1, bias);
    layer.v = linear("self_attn.v_proj", hidden, keys, 1, bias);
    if (config.qk_norm) {
      layer.q_norm = norm("self_attn.q_norm", config.head_dim, kHeadNormGain);
      layer.k_norm = norm("self_attn.k_norm", config.head_dim, kHeadNormGain);
    }
    layer.o =
        linear("self_attn.o_proj", queries, hidden, residual, config.attention_bias == AttentionBias::kQkvo);
    layer.post_norm = norm("post_attention_layernorm", hidden);
    layer.gate = linear("mlp.gate_proj", hidden, config.ffn);
    layer.up = linear("mlp.up_proj", hidden, config.ffn);
    layer.down = linear("mlp.down_proj", config.ffn, hidden, residual);
    layers_.push_back(std::move(layer));
  }
  set.Hidden(body + "layers.");
  final_norm_ = set.Constant(body + "norm.weight", {hidden}, 1);
  if (!config.tied) head_ = set.Normal(root + "lm_head.weight", {vocabulary, hidden}, embedding);
  set.EndBase();
  embedding_changes_ = RowChanges(set, body + "embed_tokens", embedding_);
  if (head_.defined()) head_changes_ = RowChanges(set, root + "lm_head", head_);
  rope_ = MakeRopeTables(positions, config.head_dim, config.rope_base,
                         embedding_.options().requires_grad(false), config.rope_scaling);
}

std::int64_t Language::TableBytes() const {
  std::size_t bytes = rope_.cos.nbytes() + rope_.sin.nbytes();
  if (turns_.cos.defined()) bytes += turns_.cos.nbytes() + turns_.sin.nbytes();
  return static_cast<std::int64_t>(bytes);
}

KernelShapes Language::Kernels() const {
  return {.norms = {config_.hidden},
          .heads = {{config_.heads, config_.head_dim}, {config_.kv_heads, config_.head_dim}},
          .norms_heads = config_.qk_norm,
          .gated = config_.ffn,
          .words = embedding_.size(0)};
}

at::Tensor Language::Embed(const at::Tensor& ids) const {
  const at::Tensor words = Lookup(embedding_, ids);
  return embedding_changes_.any() ? words + embedding_changes_.Of(ids) : words;
}

RopeTables Language::Turns(std::int64_t begin, std::int64_t end, std::int64_t heads) const {
  return turns_.cos.defined() ? turns_.Of(begin, end) : RopeTurns(rope_.Of(begin, end), heads);
}

// Causal in the text; the prefix is seen by all.
Language::Places Language::PlacesOf(const TextInput& text, std::int64_t width,
                                    const at::TensorOptions& options) const {
  const std::int64_t prefix = text.prefix_length(), end = prefix + width;
  return {.mask = AttentionMask::Causal(width, end, options, config_.attention),
          .query_turns = Turns(prefix, end, config_.heads),
          .key_turns = Turns(text.shared_length, end, config_.kv_heads)};
}

at::Tensor Language::Heads(const at::Tensor& x) const {
  return x.view({x.size(0), x.size(1), config_.kv_heads, config_.head_dim}).transpose(1, 2);
}

at::Tensor Language::Turned(const at::Tensor& x, const at::Tensor& norm, const RopeTables& turns) const {
  return config_.qk_norm ? HeadNormRope(x, norm, turns, config_.rms_epsilon) : HeadRope(x, turns);
}

void Language::Share(const std::string& key, std::int64_t length, const ForwardContext::Fn& fn,
                     TextInput& text, ForwardContext& context) const {
  const std::int64_t begin = text.shared_length;
  text.shared.resize(layers_.size());
  at::Tensor piece;
  RopeTables turns;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    at::Tensor normed;
    const auto norm = [&]() -> const at::Tensor& {
      if (!piece.defined()) piece = fn(), turns = Turns(begin, begin + length, config_.kv_heads);
      if (!normed.defined()) normed = RmsNorm(piece, layer.input_norm, config_.rms_epsilon);
      return normed;
    };
    const std::string name =
        std::string(" ").append(std::to_string(i)) + " at " + std::to_string(begin) + ", " + key;
    // As Attend drops of a piece that is not shared, so that all modes drop the same.
    const auto dropped = [&](const Linear& map, const char* site, const at::Tensor& x) {
      return PieceDropout(DropoutOf(map), "text " + std::to_string(i) + site, {key, length}, begin,
                          context)(x);
    };
    text.shared[i].keys.push_back(context.Shared("keys" + name, [&] {
      return Turned(layer.k(norm(), dropped(layer.k, " k_proj", norm())), layer.k_norm, turns);
    }));
    text.shared[i].values.push_back(context.Shared(
        "values" + name, [&] { return Heads(layer.v(norm(), dropped(layer.v, " v_proj", norm()))); }));
  }
  text.shared_length += length;
}

at::Tensor Language::Attend(std::size_t index, const at::Tensor& x, const TextInput& text,
                            const Places& places, const AdapterDrops& drops) const {
  const Layer& layer = layers_[index];
  const double epsilon = config_.rms_epsilon;
  const at::Tensor normed = RmsNorm(x, layer.input_norm, epsilon);
  // Prefix and text follow one another in position and share norm and projections, so they are projected as
  // one.
  at::Tensor seen = normed;
  if (text.prefix.defined()) seen = at::cat({RmsNorm(text.prefix, layer.input_norm, epsilon), normed}, 1);
  std::vector<const Linear*> maps = {&layer.k, &layer.v};
  if (!text.prefix.defined()) maps.push_back(&layer.q);
  std::vector<at::Tensor> mapped = Linear::Together(seen, maps);
  // The i-th of them, kept no longer than needed.
  const auto map = [&](std::size_t i, const Linear& linear, const at::Tensor& x, const at::Tensor& dropped) {
    return i < mapped.size() ? std::exchange(mapped[i], {}) : linear(x, dropped);
  };
  const at::Tensor q = Turned(map(2, layer.q, normed, drops.q(normed)), layer.q_norm, places.query_turns);
  at::Tensor k = Turned(map(0, layer.k, seen, drops.k(seen)), layer.k_norm, places.key_turns);
  at::Tensor v = Heads(map(1, layer.v, seen, drops.v(seen)));
  if (!text.shared.empty()) {
    k = Behind(text.shared[index].keys, k);
    v = Behind(text.shared[index].values, v);
  }
  if (text.cache != nullptr) {
    const auto keep = [&](std::vector<at::Tensor>& slots, const at::Tensor& now) {
      slots.push_back(
          at::zeros({now.size(0), now.size(1), text.cache->positions, now.size(3)}, now.options()));
      slots.back().narrow(2, 0, now.size(2)).copy_(now);
    };
    keep(text.cache->keys, k), keep(text.cache->values, v);
  }
  return medley::Attend(q, k, v, places.mask, config_.attention);
}

Language::NextToken Language::Next(const at::Tensor& positions, std::int64_t end,
                                   const at::TensorOptions& options) const {
  const at::Tensor slot = at::arange(end, positions.options());
  const at::Tensor hides = slot.unsqueeze(0).gt(positions.unsqueeze(1));  // [rows, end]
  const RopeTables lines{rope_.cos.index_select(0, positions), rope_.sin.index_select(0, positions)};
  const auto turns = [&](std::int64_t heads) -> RopeTables {
    const RopeTables of_row = RopeTurns(lines, heads);
    return {of_row.cos.unsqueeze(1), of_row.sin.unsqueeze(1)};
  };
  return {.positions = positions.view({-1, 1, 1, 1}),
          .end = end,
          .places = {.mask = at::zeros(hides.sizes(), options)
                                 .masked_fill_(hides, -std::numeric_limits<double>::infinity())
                                 .view({-1, 1, 1, end}),
                     .query_turns = turns(config_.heads),
                     .key_turns = turns(config_.kv_heads)}};
}

at::Tensor Language::AttendNext(std::size_t index, const at::Tensor& x, const NextToken& next,
                                TextCache& cache) const {
  const Layer& layer = layers_[index];
  const at::Tensor normed = RmsNorm(x, layer.input_norm, config_.rms_epsilon);
  const auto seen = [&](at::Tensor& slots, const at::Tensor& now) {
    slots.scatter_(2, next.positions.expand_as(now), now);
    return slots.narrow(2, 0, next.end);
  };
  const at::Tensor q = Turned(layer.q(normed), layer.q_norm, next.places.query_turns);
  const at::Tensor k = Turned(layer.k(normed), layer.k_norm, next.places.key_turns);
  return medley::Attend(q, seen(cache.keys[index], k), seen(cache.values[index], Heads(layer.v(normed))),
                        next.places.mask, config_.attention);
}

at::Tensor Language::FeedForward(const Layer& layer, const at::Tensor& attended, const at::Tensor& residual,
                                 const AdapterDrops& drops, const at::Tensor& row) const {
  const auto map = [&](const Linear& linear, const Dropout& drop, const at::Tensor& x) {
    return linear(x, row.defined() ? drop(x, row) : drop(x));
  };
  const at::Tensor y = residual + map(layer.o, drops.o, attended);
  const at::Tensor normed = RmsNorm(y, layer.post_norm, config_.rms_epsilon);
  std::vector<at::Tensor> both = Linear::Together(normed, {&layer.gate, &layer.up});
  const at::Tensor inside = both.empty()
                                ? SwiGlu(map(layer.gate, drops.gate, normed), map(layer.up, drops.up, normed))
                                : SwiGlu(both[0], both[1]);
  both.clear();
  return y + map(layer.down, drops.down, inside);
}

at::Tensor Language::RunLayer(std::size_t index, const at::Tensor& x, const TextInput& text,
                              const Places& places, const AdapterDrops& drops) const {
  at::Tensor attended = Attend(index, x, text, places, drops), residual = x, row;
  if (index + 1 == layers_.size() && text.selected.defined()) {  // nothing after this mixes positions
    attended = attended.flatten(0, 1).index_select(0, text.selected);
    residual = x.flatten(0, 1).index_select(0, text.selected);
    if (dropout_ > 0) row = at::floor_divide(text.selected, x.size(1));
  }
  return FeedForward(layers_[index], attended, residual, drops, row);
}

AdapterDrops Language::DropsOf(std::size_t index, const TextInput& text, ForwardContext& context) const {
  const Layer& layer = layers_[index];
  const std::string site = "text " + std::to_string(index) + " ";
  const auto of_text = [&](const Linear& map, const char* name) {
    return Dropout(DropoutOf(map), site + name, context);
  };
  std::vector<PrefixPiece> pieces = text.pieces;
  if (pieces.empty() && text.prefix.defined()) pieces.push_back({.key = "", .length = text.prefix.size(1)});
  const auto of_seen = [&](const Linear& map, const char* name) {
    return SeenDropout(DropoutOf(map), site + name, pieces, text.shared_length, context);
  };
  return {.q = of_text(layer.q, "q_proj"),
          .o = of_text(layer.o, "o_proj"),
          .gate = of_text(layer.gate, "gate_proj"),
          .up = of_text(layer.up, "up_proj"),
          .down = of_text(layer.down, "down_proj"),
          .k = of_seen(layer.k, "k_proj"),
          .v = of_seen(layer.v, "v_proj")};
}

at::Tensor Language::Hidden(at::Tensor x, const TextInput& text, ForwardContext& context) const {
  const Places places = PlacesOf(text, x.size(1), x.options().requires_grad(false));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const AdapterDrops drops = DropsOf(i, text, context);
    x = context.Layer("text", static_cast<int>(i), x, [this, i, text, places, drops](const at::Tensor& in) {
      return RunLayer(i, in, text, places, drops);
    });
  }
  return RmsNorm(x, final_norm_, config_.rms_epsilon);
}

at::Tensor Language::Continue(const at::Tensor& x, const at::Tensor& positions, std::int64_t end,
                              TextCache& cache) const {
  const NextToken next = Next(positions, end, x.options().requires_grad(false));
  at::Tensor y = x.unsqueeze(1);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    y = FeedForward(layers_[i], AttendNext(i, y, next, cache), y);
  }
  return RmsNorm(y, final_norm_, config_.rms_epsilon).squeeze(1);
}

at::Tensor Language::Logits(const at::Tensor& hidden) const {
  const at::Tensor logits = ProductLogits(hidden);
  return IsHalf(logits.scalar_type()) ? logits.to(at::kFloat) : logits;
}

at::Tensor Language::ProductLogits(const at::Tensor& hidden) const {
  const at::Tensor& table = head_.defined() ? head_ : embedding_;
  at::Tensor logits = LinearProduct(hidden, table);
  const RowChanges& changes = head_.defined() ? head_changes_ : embedding_changes_;
  if (!changes.any()) return logits;
  if (IsHalf(logits.scalar_type())) logits = logits.to(at::kFloat);
  changes.AddTo(logits, hidden);
  return logits;
}

at::Tensor Language::Losses(const at::Tensor& hidden, const LossTargets& targets) const {
  const at::Tensor& table = head_.defined() ? head_ : embedding_;
  const LossPieces pieces(table.size(0), config_.loss_bytes);
  if (!pieces.Cuts(hidden.size(0))) {
    return IsFused(FusedKernel::kLosses, hidden) ? FusedLosses(ProductLogits(hidden), targets)
                                                 : LossesOfLogits(Logits(hidden), targets);
  }
  const RowChanges& changes = head_.defined() ? head_changes_ : embedding_changes_;
  return PiecewiseLosses(
      hidden, targets,
      {.table = table, .ids = changes.ids(), .changes = changes.changes(), .bytes = config_.loss_bytes});
}

LanguageTraining Language::training() const {
  const auto map = [](const Linear& linear) -> LanguageTraining::Map {
    return {.weight = linear.trains_weight(), .rank = linear.rank()};
  };
  const auto trains = [](const at::Tensor& weight) { return weight.defined() && weight.requires_grad(); };
  LanguageTraining training{.layers = {},
                            .embedding = trains(embedding_),
                            .final_norm = trains(final_norm_),
                            .head = trains(head_.defined() ? head_ : embedding_),
                            .tokens = embedding_changes_.count(),
                            .dropout = dropout_};
  for (const Layer& layer : layers_)
    training.layers.push_back({.input_norm = trains(layer.input_norm),
                               .post_norm = trains(layer.post_norm),
                               .q_norm = trains(layer.q_norm),
                               .k_norm = trains(layer.k_norm),
                               .q = map(layer.q),
                               .k = map(layer.k),
                               .v = map(layer.v),
                               .o = map(layer.o),
                               .gate = map(layer.gate),
                               .up = map(layer.up),
                               .down = map(layer.down)});
  return training;
}

void Language::To(at::Device device, at::ScalarType dtype) {
  embedding_changes_.To(device), head_changes_.To(device);
  rope_ = MakeRopeTables(positions(), config_.head_dim, config_.rope_base,
                         at::device(device).dtype(AtLeastFloat(dtype)), config_.rope_scaling);
  turns_ = device.is_cuda() ? RopeTurns(rope_, 1) : RopeTables();
}

}  // namespace medley
