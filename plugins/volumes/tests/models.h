#pragma once

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <string_view>
#include <vector>

#include <medley/testing/made_model.h>

#include "data/collate.h"
#include "data/examples.h"
#include "model/volumes.h"
#include "tests/bytes.h"

namespace medley_volumes {

using Values = medley::check::Made<Volumes>::Values;

// Small enough for float64 on a CPU; series of another number of tokens than volumes.
inline Values SmallValues() {
  return {{"volume.size", 8.0},       {"volume.patch", 4.0},      {"series.size", 4.0},
          {"series.patch", 2.0},      {"series.frames", 4.0},     {"series.step", 2.0},
          {"tower.width", 16.0},      {"tower.heads", 2.0},       {"tower.layers", 1.0},
          {"tower.ffn", 24.0},        {"language.hidden", 24.0},  {"language.heads", 2.0},
          {"language.kv_heads", 1.0}, {"language.head_dim", 8.0}, {"language.ffn", 32.0},
          {"language.layers", 2.0}};
}

// A model with some values of its config file changed, and what is needed to ask it.
class Made : public medley::check::Made<Volumes> {
 public:
  explicit Made(const Values& values = SmallValues(), at::Device device = at::kCPU)
      : medley::check::Made<Volumes>(values, device, &kBytes) {}

  Geometry geometry() const {
    return {.volume_side = config().Integer("volume.size"),
            .series_side = config().Integer("series.size"),
            .frames = config().Integer("series.frames")};
  }
  Limits limits() const {
    return {.geometry = geometry(),
            .volume_tokens = VolumeTokens(config()),
            .series_tokens = SeriesTokens(config()),
            .positions = config().Integer("language.positions"),
            .text = 256,
            .learned = 128};
  }
  // The rows as a task would sample them.
  medley::Batch BatchOf(const std::vector<Conversation>& conversations, std::int64_t begin = 0) const {
    const Collator collator(kBytes, limits(), medley::FileTexts(kBytes, false));
    std::vector<Line> lines;
    std::int64_t width = 0;
    for (const Conversation& conversation : conversations) {
      lines.push_back(collator.LineOf(conversation));
      width = std::max<std::int64_t>(width, std::ssize(lines.back().tokens));
    }
    medley::Batch batch({.seed = 1, .begin = begin, .count = std::ssize(conversations)});
    AddLines(batch, lines, width, kBytes.pad(), geometry());
    return batch;
  }
};

inline medley::ModelOutputs Ask(const Volumes& model, const medley::Batch& batch,
                                std::string_view learned = "learned") {
  medley::ForwardContext context;
  return model.Forward(InputsOf(batch, learned), {"logits", "targets"}, context);
}

// What is learned in each row: [items, vocabulary], without a graph.
inline at::Tensor LogitsOf(const Made& made, const std::vector<Conversation>& conversations) {
  const at::NoGradGuard no_grad;
  return Ask(*made, made.BatchOf(conversations)).at("logits");
}

// Rows of a task, as its own stream has them.
template <typename Fn>
std::vector<Conversation> Rows(std::int64_t count, const Fn& make, std::uint64_t seed = 3) {
  std::vector<Conversation> rows;
  medley::ForEachRow({.seed = seed, .begin = 0, .count = count},
                     [&](medley::Row& row) { rows.push_back(make(row)); });
  return rows;
}

inline double Furthest(const at::Tensor& a, const at::Tensor& b) {
  return a.sub(b).abs().max().item<double>();
}

}  // namespace medley_volumes
