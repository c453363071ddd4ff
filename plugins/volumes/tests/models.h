#pragma once

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <medley/testing/checks.h>

#include "data/collate.h"
#include "data/examples.h"
#include "model/volumes.h"
#include "tests/bytes.h"

namespace medley_volumes {

using Values = std::vector<std::pair<std::string, medley::OptionValue>>;

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
class Made {
 public:
  explicit Made(const Values& values = SmallValues(), at::Device device = at::kCPU, std::uint64_t seed = 1)
      : config_(medley::check::ConfigOf(Volumes::kSpec, values)),
        model_(std::make_unique<Volumes>(medley::ModelContext(config_, seed, device, &tokenizer_))) {}
  Volumes& operator*() const { return *model_; }
  Volumes* operator->() const { return model_.get(); }

  const medley::Tokenizer& tokenizer() const { return tokenizer_; }
  Geometry geometry() const {
    return {.volume_side = config_.Integer("volume.size"),
            .series_side = config_.Integer("series.size"),
            .frames = config_.Integer("series.frames")};
  }
  Limits limits() const {
    return {.geometry = geometry(),
            .volume_tokens = VolumeTokens(config_),
            .series_tokens = SeriesTokens(config_),
            .positions = config_.Integer("language.positions"),
            .text = 256,
            .learned = 128};
  }
  // The rows as a task would sample them.
  medley::Batch BatchOf(const std::vector<Conversation>& conversations) const {
    const Collator collator(tokenizer_, limits());
    std::vector<Line> lines;
    std::int64_t width = 0;
    for (const Conversation& conversation : conversations) {
      lines.push_back(collator.LineOf(conversation));
      width = std::max<std::int64_t>(width, std::ssize(lines.back().tokens));
    }
    medley::Batch batch({.seed = 1, .begin = 0, .count = std::ssize(conversations)});
    AddLines(batch, lines, width, tokenizer_.pad(), geometry());
    return batch;
  }
  std::int64_t parameters(const std::string& prefix) const {
    std::int64_t count = 0;
    for (const medley::Parameter& parameter : model_->parameters()) {
      if (parameter.name.starts_with(prefix)) count += parameter.tensor.numel();
    }
    return count;
  }

 private:
  ByteTokenizer tokenizer_;
  medley::ModelConfig config_;
  std::unique_ptr<Volumes> model_;
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
