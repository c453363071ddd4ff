#include <medley/model/agent/language.h>

#include <ATen/Functions.h>

#include <cmath>
#include <limits>

namespace medley {
namespace {

// With ones, the attention of an untrained agent is nearly uniform over a picture, and a small object in it
// is long overlooked.
constexpr double kHeadNormGain = 1.7;

}  // namespace

Language::Language(ParameterSet& set, const AgentConfig::Language& config, std::int64_t vocabulary,
                   std::int64_t positions)
    : config_(config) {
  const std::string root = "qwen_model.model.";
  const std::int64_t hidden = config.hidden, queries = config.heads * config.head_dim,
                     keys = config.kv_heads * config.head_dim;
  // What is added to the residual stream starts smaller the more layers add to it.
  const double residual = 1 / std::sqrt(2.0 * static_cast<double>(config.layers));
  // A word must weigh something beside what attention adds to it; at width 1024 this is near the published
  // 0.02.
  const double embedding = 1 / std::sqrt(static_cast<double>(hidden));
  embedding_ = set.Normal(root + "embed_tokens.weight", {vocabulary, hidden}, embedding);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string name = root + "layers." + std::to_string(i) + ".";
    const auto linear = [&](const std::string& part, std::int64_t in, std::int64_t out, double gain = 1) {
      return Linear(set, name + part, in, out, /*bias=*/false, gain);
    };
    const auto norm = [&](const std::string& part, std::int64_t dim, double gain = 1) {
      return set.Constant(name + part + ".weight", {dim}, gain);
    };
    Layer layer;
    layer.input_norm = norm("input_layernorm", hidden);
    layer.q = linear("self_attn.q_proj", hidden, queries);
    layer.k = linear("self_attn.k_proj", hidden, keys);
    layer.v = linear("self_attn.v_proj", hidden, keys);
    layer.q_norm = norm("self_attn.q_norm", config.head_dim, kHeadNormGain);
    layer.k_norm = norm("self_attn.k_norm", config.head_dim, kHeadNormGain);
    layer.o = linear("self_attn.o_proj", queries, hidden, residual);
    layer.post_norm = norm("post_attention_layernorm", hidden);
    layer.gate = linear("mlp.gate_proj", hidden, config.ffn);
    layer.up = linear("mlp.up_proj", hidden, config.ffn);
    layer.down = linear("mlp.down_proj", config.ffn, hidden, residual);
    layers_.push_back(std::move(layer));
  }
  final_norm_ = set.Constant(root + "norm.weight", {hidden}, 1);
  if (!config.tied) head_ = set.Normal("qwen_model.lm_head.weight", {vocabulary, hidden}, embedding);
  rope_ =
      MakeRopeTables(positions, config.head_dim, config.rope_base, embedding_.options().requires_grad(false));
}

at::Tensor Language::Embed(const at::Tensor& ids) const { return at::embedding(embedding_, ids); }

at::Tensor Language::Mask(std::int64_t prefix, std::int64_t length, const at::TensorOptions& options) {
  return at::full({length, prefix + length}, -std::numeric_limits<double>::infinity(), options)
      .triu_(prefix + 1);
}

at::Tensor Language::Attend(const Layer& layer, const at::Tensor& x, const TextInput& text) const {
  const double epsilon = config_.rms_epsilon;
  const std::int64_t rows = x.size(0), length = x.size(1);
  const std::int64_t prefix = text.prefix.defined() ? text.prefix.size(1) : 0;
  const at::Tensor normed = RmsNorm(x, layer.input_norm, epsilon);
  // Prefix and text follow one another in position and share norm and projections, so they are projected as
  // one.
  at::Tensor seen = normed;
  if (prefix > 0) seen = at::cat({RmsNorm(text.prefix, layer.input_norm, epsilon), normed}, 1);
  const at::Tensor q = HeadNormRope(layer.q(normed), layer.q_norm, rope_, prefix, epsilon);
  const at::Tensor k = HeadNormRope(layer.k(seen), layer.k_norm, rope_, 0, epsilon);
  const at::Tensor v =
      layer.v(seen).view({rows, prefix + length, config_.kv_heads, config_.head_dim}).transpose(1, 2);
  const at::Tensor out =
      at::scaled_dot_product_attention(q, k, v, text.mask, 0.0, /*is_causal=*/false, std::nullopt,
                                       /*enable_gqa=*/config_.kv_heads != config_.heads);
  return out.transpose(1, 2).reshape({rows, length, config_.heads * config_.head_dim});
}

at::Tensor Language::RunLayer(const Layer& layer, const at::Tensor& x, const TextInput& text,
                              bool last) const {
  at::Tensor attended = Attend(layer, x, text), residual = x;
  if (last && text.selected.defined()) {  // nothing after the last attention mixes positions
    attended = attended.flatten(0, 1).index_select(0, text.selected);
    residual = x.flatten(0, 1).index_select(0, text.selected);
  }
  const at::Tensor y = residual + layer.o(attended);
  const at::Tensor normed = RmsNorm(y, layer.post_norm, config_.rms_epsilon);
  return y + layer.down(SwiGlu(layer.gate(normed), layer.up(normed)));
}

at::Tensor Language::Hidden(const at::Tensor& x, const TextInput& text, ForwardContext& context) const {
  at::Tensor y = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const bool last = i + 1 == layers_.size();
    y = context.Layer("text", static_cast<int>(i), y, [this, i, last, text](const at::Tensor& in) {
      return RunLayer(layers_[i], in, text, last);
    });
  }
  return RmsNorm(y, final_norm_, config_.rms_epsilon);
}

at::Tensor Language::Logits(const at::Tensor& hidden) const {
  const at::Tensor& table = head_.defined() ? head_ : embedding_;
  const at::Tensor logits = at::linear(hidden, table);
  return at::isReducedFloatingType(logits.scalar_type()) ? logits.to(at::kFloat) : logits;
}

void Language::To(at::Device device, at::ScalarType dtype) {
  rope_ = MakeRopeTables(positions(), config_.head_dim, config_.rope_base, at::device(device).dtype(dtype));
}

}  // namespace medley
