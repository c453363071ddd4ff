#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <medley/config/lora_config.h>

namespace medley {

inline constexpr const char* kPeftConfigFile = "adapter_config.json";
inline constexpr const char* kPeftWeightsFile = "adapter_model.safetensors";

// The config of a folder of PEFT's.
struct PeftConfig {
  LoraConfig lora;  // rank, alpha, rslora, targets and tokens
  // Whose rows of the embedding table, and of an output table of its own, the folder has: in its order.
  std::vector<std::int64_t> embedding_tokens, head_tokens;
};

// Reads DIR/adapter_config.json. What it leaves out has PEFT's defaults. Throws one InputError with every
// mistake, and with everything that medley's adapters cannot do.
PeftConfig ReadPeftConfig(const std::filesystem::path& directory);

}  // namespace medley
