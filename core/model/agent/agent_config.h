#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/config/config_file.h>

namespace medley {

// Sizes of the agent; configs/models/*.json. No tensors here, so that `medley validate` can check it.
struct AgentConfig {
  struct Language {
    std::int64_t hidden = 64, layers = 2, heads = 4, kv_heads = 2, head_dim = 16, ffn = 192;
    std::int64_t vocabulary = 0;  // rows of the embedding table; 0: the tokenizer's size
    double rms_epsilon = 1e-6, rope_base = 1e6;
    bool tied = true;
  } language;
  struct Image {
    std::int64_t size = 128, patch = 16;
    double mean = 0, scale = 1;  // (x - mean) * scale on the way in, undone on the way out
  } image;
  // Encoder and picture decoder: attention over patches.
  struct Stack {
    std::int64_t layers = 2, heads = 4, ffn = 128;
    bool pre_norm = false;  // false: post-norm, as published
    double dropout = 0;
  } encoder, decoder;
};

// Throws InputError with every mistake of the file, like ReadRunConfig.
AgentConfig ReadAgentConfig(const std::filesystem::path& file);
// Reports every mistake to the file's diagnostics.
void ReadConfig(ConfigFile& file, AgentConfig& config);
nlohmann::ordered_json ToJson(const AgentConfig& config);
nlohmann::ordered_json AgentConfigSchema();
// The names of what the agent takes and gives, for checking a run without building a model.
const std::vector<std::string>& AgentInputNames();
const std::vector<std::string>& AgentOutputNames();

}  // namespace medley
