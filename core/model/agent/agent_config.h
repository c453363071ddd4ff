#pragma once

#include <cstdint>

#include <medley/model/blocks/language_config.h>
#include <medley/model/blocks/tower_config.h>
#include <medley/model/model_config.h>

namespace medley {

// The values of an agent's config file by name; defaults, bounds and help are those of kAgentSpec. No tensors
// here, so that `medley validate` can check it.
struct AgentConfig {
  using Language = LanguageConfig;
  Language language;
  struct Image {
    std::int64_t size, patch;
    double mean, scale;  // (x - mean) * scale on the way in, undone on the way out
  } image;
  // Encoder and picture decoder: attention over patches.
  struct Stack {
    std::int64_t layers, heads, ffn;
    bool pre_norm;   // false: post-norm, as published
    double dropout;  // of hidden states, never of attention's weights
  } encoder, decoder;
  // What each cell of a patch goes through before the patch is mapped; without channels there is none.
  struct Stem {
    std::int64_t channels, cell;  // cell: pixels a side
  } stem;
  bool alpha;         // what is drawn has an opacity, and lies over what was seen
  TowerConfig tower;  // where it has a kind, in place of the encoder and the stem

  AgentConfig();  // the defaults
  explicit AgentConfig(const ModelConfig& config);
};

}  // namespace medley
