#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <medley/model/agent/agent.h>

#include "tests/model/letter_tokenizer.h"

namespace medley::test {

// Every part of the agent at the smallest sizes that keep head dim != hidden / heads, groups of heads and
// layers.
inline AgentConfig SmallConfig(bool pre_norm = true) {
  AgentConfig config;
  config.language.hidden = 16;
  config.language.layers = 2;
  config.language.heads = 4;
  config.language.kv_heads = 2;
  config.language.head_dim = 6;
  config.language.ffn = 24;
  config.image.size = 8;
  config.image.patch = 4;
  config.image.mean = 1.0;
  config.image.scale = 3.0;
  config.encoder = {.layers = 2, .heads = 2, .ffn = 12, .pre_norm = pre_norm, .dropout = 0};
  config.decoder = {.layers = 2, .heads = 2, .ffn = 12, .pre_norm = pre_norm, .dropout = 0};
  return config;
}

// The same with a convolutional stem, and drawing over what was seen.
inline AgentConfig ConfigWithAlpha(bool pre_norm = true) {
  AgentConfig config = SmallConfig(pre_norm);
  config.stem = {.channels = 5, .cell = 2};
  config.alpha = true;
  return config;
}

inline Agent AgentOf(const AgentConfig& config, at::ScalarType dtype = at::kDouble) {
  Agent agent(config, LetterTokenizer(), /*seed=*/7);
  agent.To(at::kCPU, dtype);
  return agent;
}

inline Agent SmallAgent(at::ScalarType dtype = at::kDouble, bool pre_norm = true) {
  return AgentOf(SmallConfig(pre_norm), dtype);
}

// Random inputs of one forward; copies may be changed before they are used.
struct Example {
  std::vector<at::Tensor> images;
  at::Tensor tokens, lengths, context_lengths;
  std::vector<std::vector<std::int64_t>> supervised;  // positions of each row

  ModelInputs Inputs() const {
    ModelInputs inputs;
    for (std::size_t i = 0; i < images.size(); ++i)
      inputs.push_back({"images", images[i], std::string("k").append(std::to_string(i))});
    std::vector<std::int64_t> flat;
    for (std::size_t row = 0; row < supervised.size(); ++row) {
      for (const std::int64_t position : supervised[row]) {
        flat.push_back(static_cast<std::int64_t>(row) * tokens.size(1) + position);
      }
    }
    inputs.push_back({"tokens", tokens, ""});
    inputs.push_back({"lengths", lengths, ""});
    inputs.push_back({"supervised", at::tensor(flat, at::kLong), ""});
    if (context_lengths.defined()) inputs.push_back({"context_lengths", context_lengths, ""});
    return inputs;
  }

  Example Rows(std::int64_t begin, std::int64_t count) const {
    Example part = *this;
    for (at::Tensor& image : part.images) image = image.narrow(0, begin, count);
    part.tokens = tokens.narrow(0, begin, count);
    part.lengths = lengths.narrow(0, begin, count);
    if (context_lengths.defined()) part.context_lengths = context_lengths.narrow(0, begin, count);
    part.supervised.assign(supervised.begin() + begin, supervised.begin() + begin + count);
    return part;
  }
};

inline Example RandomExample(std::int64_t rows, std::int64_t images, std::int64_t width, std::uint64_t seed,
                             at::ScalarType dtype = at::kDouble) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  Example example;
  const auto options = at::dtype(dtype);
  for (std::int64_t i = 0; i < images; ++i)
    example.images.push_back(at::rand({rows, 3, 8, 8}, generator, options));
  example.tokens = at::randint(7, 120, {rows, width}, generator, at::dtype(at::kLong));
  example.lengths = at::randint(width / 2, width + 1, {rows}, generator, at::dtype(at::kLong));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t length = example.lengths[row].item<std::int64_t>();
    example.tokens[row].narrow(0, length, width - length).zero_();
    example.supervised.push_back({1, length - 2, length - 1});
  }
  return example;
}

inline at::Tensor Logits(const Agent& agent, const Example& example) {
  ForwardContext context;
  return agent.Forward(example.Inputs(), {"logits"}, context).at("logits");
}

inline at::Tensor Picture(const Agent& agent, const Example& example) {
  ForwardContext context;
  return agent.Forward(example.Inputs(), {"image"}, context).at("image");
}

// A scalar that depends on every output: cross-entropy and the picture's error.
inline at::Tensor Loss(const Agent& agent, const Example& example) {
  ForwardContext context;
  ModelOutputs outputs = agent.Forward(example.Inputs(), {"logits", "targets", "image"}, context);
  return at::cross_entropy_loss(outputs.at("logits"), outputs.at("targets")) +
         outputs.at("image").square().mean();
}

inline double LargestDifference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace medley::test
