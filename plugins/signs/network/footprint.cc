#include <algorithm>

#include <medley/model/blocks/footprint.h>

#include "network/network.h"

// What each part of the network keeps was counted tensor by tensor; tests/memory_test compares it with
// what a forward takes.
namespace medley_signs {

using medley::ForwardPart;

std::vector<ForwardPart> Network::Footprint(const medley::ForwardShape& shape,
                                            std::int64_t number_bytes) const {
  const std::int64_t frames = shape.Size("frames"), positions = frames + (has_token() ? 1 : 0);
  std::vector<ForwardPart> parts;
  AddInputParts(parts, shape.rows, frames, number_bytes);
  for (std::int64_t i = 0; i < setting_.encoder_layers; ++i) {
    for (ForwardPart& part :
         medley::Footprint(LayerSetting(), "encoder." + std::to_string(i), static_cast<int>(i),
                           {.rows = shape.rows,
                           .positions = positions,
                           .masked = true,
                           .number_bytes = number_bytes,
                           .with_graph = shape.with_graph,
                           .on_gpu = shape.on_gpu}))
      parts.push_back(part);
  }
  if (has_token()) {
    AddHeadParts(parts, shape.rows, positions);
  } else {
    AddQueryParts(parts, shape.rows, frames, number_bytes);
  }
  if (shape.with_graph) return parts;
  for (ForwardPart& part : parts) {
    if (part.layer < 0) part = medley::WithoutGraph(part, 0);
  }
  const std::int64_t clips = medley::IsHalf(number_bytes) ? frames * kFeatures : 0;
  parts.front() =
      medley::WithoutGraph(parts.front(), shape.rows * (positions * (setting_.width + 1) + clips));
  parts.back() = medley::WithoutGraph(parts.back(), shape.rows * setting_.classes);
  return parts;
}

// Of a norm; beside a half type its weights in float too.
std::int64_t Network::Statistics(std::int64_t lines, std::int64_t number_bytes) const {
  return medley::Floats(2 * lines + (medley::IsHalf(number_bytes) ? 2 * setting_.width : 0), number_bytes);
}

// The norm's input and statistics and what is dropped; the mask, and what says which frames are inside; in a
// half type the clips in it.
void Network::AddInputParts(std::vector<ForwardPart>& parts, std::int64_t rows, std::int64_t frames,
                            std::int64_t number_bytes) const {
  const std::int64_t all = rows * frames * setting_.width,
                     mask = medley::InNumbers(rows * (frames + 1) * 8, number_bytes),
                     clips = medley::IsHalf(number_bytes) ? rows * frames * kFeatures : 0;
  const bool copies = !has_token() && setting_.positions == Positions::kNone;
  ForwardPart part{.kept = clips + mask + (copies ? all : 0), .forward = all, .backward = all};
  if (has_token()) {
    const bool drops = setting_.dropout > 0;
    const std::int64_t workspace = medley::Dropout::WorkspaceBytes(rows * frames, setting_.width, false);
    part = {.kept = clips + mask + all + Statistics(rows * frames, number_bytes) +
                    (drops ? medley::InNumbers(all, number_bytes) : 0),
            .forward = 2 * all + (drops ? medley::InNumbers(workspace, number_bytes) : 0),
            .backward = 3 * all};
  }
  part.parameters = "in";
  parts.push_back(part);
}

// Once the frames and their norm; of each layer its keys, values and weights, and what the query becomes.
void Network::AddQueryParts(std::vector<ForwardPart>& parts, std::int64_t rows, std::int64_t frames,
                            std::int64_t number_bytes) const {
  const std::int64_t all = rows * frames * setting_.width, weights = rows * setting_.heads * frames;
  const bool eager = setting_.attention == medley::AttentionKind::kEager, drops = setting_.dropout > 0;
  ForwardPart norm{
      .kept = 2 * all + Statistics(rows * frames, number_bytes), .forward = all, .backward = 2 * all};
  norm.parameters = "encoder_norm";
  parts.push_back(norm);
  for (std::int64_t i = 0; i < setting_.decoder_layers; ++i) {
    ForwardPart layer{.kept = 2 * all + rows * (14 * setting_.width + 2 * setting_.ffn + 8) +
                              (eager ? weights * (drops ? 3 : 1) : rows * setting_.heads),
                      // Eager keys and values are copied, of which a head's lines stand together.
                      .forward = (eager ? 3 : 1) * all + 4 * weights,
                      .backward = 5 * all + 2 * weights};
    layer.attention = {.rows = rows,
                       .heads = setting_.heads,
                       .kv_heads = setting_.heads,
                       .head_dim = setting_.width / setting_.heads,
                       .queries = 1,
                       .seen = frames,
                       .fused = !eager};
    layer.parameters = "decoder." + std::to_string(i) + ".";
    parts.push_back(layer);
  }
  ForwardPart head{.kept = rows * (4 * setting_.width + 2 * setting_.classes), .backward = all};
  head.parameters = "head";
  parts.push_back(head);
}

// The encoder's output goes once its first place has been copied.
void Network::AddHeadParts(std::vector<ForwardPart>& parts, std::int64_t rows, std::int64_t positions) const {
  const std::int64_t all = rows * positions * setting_.width;
  ForwardPart head{
      .kept = rows * (12 * setting_.width + 2 * setting_.classes), .forward = all, .backward = 2 * all};
  head.parameters = "head";
  parts.push_back(head);
}

}  // namespace medley_signs
