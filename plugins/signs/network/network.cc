#include "network/network.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <medley/base/error.h>

namespace medley_signs {
namespace {

using medley::Dropout;
using medley::ForwardContext;
using medley::LayerNorm;
using medley::Linear;
using medley::ParameterSet;

constexpr std::int64_t kPublishedRows = 50;  // of a table that the published model has and never reads

void RequireFits(const NetworkSetting& setting) {
  if (setting.width % setting.heads == 0) return;
  std::string fitting;
  for (std::int64_t heads = 1; heads <= setting.width; ++heads) {
    if (setting.width % heads == 0) fitting += (heads == 1 ? "" : ", ") + std::to_string(heads);
  }
  throw medley::InputError("heads " + std::to_string(setting.heads) + " do not divide the width " +
                           std::to_string(setting.width) + " of a frame; expected one of " + fitting);
}

std::int64_t LongestOf(const at::Tensor& lengths, std::int64_t frames) {
  const auto shortest = lengths.min().item<std::int64_t>(), longest = lengths.max().item<std::int64_t>();
  if (shortest < 1 || longest > frames)
    throw medley::Error("clips of " + std::to_string(shortest) + " to " + std::to_string(longest) +
                        " frames, expected 1 to " + std::to_string(frames) + ", as many as \"poses\" has");
  return longest;
}

at::Tensor SharedPosition(ParameterSet& set) {
  const at::Tensor rows = set.Uniform("row_embed", {kPublishedRows, kFeatures}, 0, 1);
  at::Tensor position = set.Constant("position", {1, 1, kFeatures}, 0);
  const at::NoGradGuard no_grad;
  if (!rows.is_meta()) position.copy_(rows.narrow(0, 0, 1).unsqueeze(0));
  return position;
}

}  // namespace

QueryLayer::QueryLayer(ParameterSet& set, const std::string& name, const NetworkSetting& setting)
    : dropout_(setting.dropout),
      drops_weights_(setting.attention == medley::AttentionKind::kEager),
      cross_(set, name + ".cross_attn",
             {.width = setting.width, .heads = setting.heads, .cross = true, .kind = setting.attention}),
      ffn_(set, name + ".ffn", setting.width, setting.ffn, setting.activation),
      self_norm_(set, name + ".self_norm", setting.width),
      cross_norm_(set, name + ".cross_norm", setting.width),
      ffn_norm_(set, name + ".ffn_norm", setting.width) {}

QueryLayer::Drops QueryLayer::DropsOf(const std::string& site, ForwardContext& context) const {
  if (dropout_ == 0) return {};
  const auto drop = [&](const char* part) { return Dropout(dropout_, site + part, context); };
  return {.self = drop(" self"),
          .weights = drops_weights_ ? drop(" cross weights") : Dropout(),
          .cross = drop(" cross"),
          .inner = drop(" ffn inner"),
          .ffn = drop(" ffn")};
}

at::Tensor QueryLayer::operator()(const at::Tensor& query, const at::Tensor& frames, const at::Tensor& mask,
                                  const Drops& drops) const {
  at::Tensor x = self_norm_(query.add(drops.self(query)));
  x = cross_norm_(x.add(drops.cross(cross_.Cross(x, frames, mask, drops.weights))));
  return ffn_norm_(x.add(drops.ffn(ffn_(x, drops.inner))));
}

medley::TransformerLayer::Setting Network::LayerSetting() const {
  return {.width = setting_.width,
          .heads = setting_.heads,
          .ffn = setting_.ffn,
          .activation = setting_.activation,
          .attention = setting_.attention,
          .dropout = setting_.dropout};
}

Network::Network(ParameterSet& set, const NetworkSetting& setting) : setting_(setting) {
  RequireFits(setting);
  const std::int64_t width = setting.width, places = setting.longest + (has_token() ? 1 : 0);
  if (has_token()) {
    in_ = Linear(set, "in", kFeatures, width, true);
    in_norm_ = LayerNorm(set, "in_norm", width);
  }
  if (setting.positions == Positions::kShared) positions_ = SharedPosition(set);
  if (setting.positions == Positions::kFrame) positions_ = set.Normal("positions", {1, places, width}, 0.1);
  token_ = has_token() ? set.Normal("class_token", {1, 1, width}, 0.1)
                       : set.Uniform("class_query", {1, 1, width}, 0, 1);
  for (std::int64_t i = 0; i < setting.encoder_layers; ++i)
    encoder_.emplace_back(set, "encoder." + std::to_string(i), LayerSetting());
  for (std::int64_t i = 0; i < setting.decoder_layers; ++i) {
    const std::string name = "decoder." + std::to_string(i);
    decoder_.emplace_back(set, name, setting);
    if (i > 0) set.CopyStart("decoder.0.", name + ".");
  }
  if (has_token()) {
    head_norm_ = LayerNorm(set, "head_norm", width);
    head_.emplace_back(set, "head.0", width, width, true);
    head_.emplace_back(set, "head.1", width, width / 2, true);
    set.Hidden("head.");  // the last map, which gives the classes, comes behind
    head_.emplace_back(set, "head.2", width / 2, setting.classes, true);
  } else {
    encoder_norm_ = LayerNorm(set, "encoder_norm", width);
    decoder_norm_ = LayerNorm(set, "decoder_norm", width);
    head_.emplace_back(set, "head.0", width, setting.classes, true);
  }
}

// Shorter clips are cut out behind the first map: in front of it that would be a copy, which clips of the
// full length do not need, and a narrower batch could take more than the widest.
at::Tensor Network::Embedded(const at::Tensor& poses, std::int64_t frames, ForwardContext& context) const {
  at::Tensor x = has_token() ? in_(poses) : poses;
  x = x.narrow(1, 0, frames);
  if (has_token()) {
    x = Dropout(setting_.dropout / 2, "in", context)(in_norm_(x));
    x = at::cat({token_.expand({x.size(0), -1, -1}), x}, 1);
  }
  if (setting_.positions == Positions::kNone) return has_token() ? x : x.clone();
  return x.add(setting_.positions == Positions::kShared ? positions_ : positions_.narrow(1, 0, x.size(1)));
}

at::Tensor Network::Asked(const at::Tensor& frames, const at::Tensor& mask, ForwardContext& context) const {
  at::Tensor x = token_.expand({frames.size(0), -1, -1});
  for (std::size_t i = 0; i < decoder_.size(); ++i) {
    const auto drops = decoder_[i].DropsOf("decoder " + std::to_string(i), context);
    x = decoder_[i](x, frames, mask, drops);
  }
  return decoder_norm_(x);
}

at::Tensor Network::Judged(const at::Tensor& clip, ForwardContext& context) const {
  if (!has_token()) return head_[0](clip);
  const Dropout first(setting_.dropout, "head 0", context), second(setting_.dropout / 2, "head 1", context);
  at::Tensor x = first(at::gelu(head_[0](head_norm_(clip))));
  x = second(at::gelu(head_[1](x)));
  return head_[2](x);
}

at::Tensor Network::operator()(const at::Tensor& poses, const at::Tensor& lengths,
                               ForwardContext& context) const {
  if (poses.size(1) > setting_.longest)
    throw medley::Error("clips of " + std::to_string(poses.size(1)) + " frames, of which the model knows " +
                        std::to_string(setting_.longest) + "; set its \"longest\"");
  // Nobody sees what stands behind the longest clip; on a GPU the question would be a wait.
  const std::int64_t frames = lengths.is_cpu() ? LongestOf(lengths, poses.size(1)) : poses.size(1);
  at::Tensor inside = at::arange(frames, lengths.options()).lt(lengths.unsqueeze(1));  // [rows, frames]
  at::Tensor x = Embedded(poses, frames, context);
  if (has_token()) inside = at::cat({at::ones({x.size(0), 1}, inside.options()), inside}, 1);
  const at::Tensor mask = medley::AdditiveMask(inside.unsqueeze(1).unsqueeze(1), x);
  for (std::size_t i = 0; i < encoder_.size(); ++i) {
    const auto drops = encoder_[i].DropsOf("encoder " + std::to_string(i), context);
    const medley::TransformerLayer::Seen seen{.mask = mask};
    x = context.Layer(
        "encoder", static_cast<int>(i), x,
        [layer = encoder_[i], drops, seen](const at::Tensor& in) { return layer(in, drops, seen); });
  }
  if (!has_token()) return Judged(Asked(encoder_norm_(x), mask, context).squeeze(1), context);
  return Judged(x.select(1, 0).contiguous(), context);  // a copy, as a view would keep all frames
}

}  // namespace medley_signs
