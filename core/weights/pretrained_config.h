#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/key_table.h>
#include <medley/model/blocks/language_config.h>

namespace medley {

// The config of a Hugging Face folder, as far as it describes a Language.
struct PretrainedConfig {
  std::string architecture;    // "Qwen3ForCausalLM"
  LanguageConfig language;     // the vocabulary is that of the folder's table
  std::int64_t positions = 0;  // of the longest text that it was made for
  bool in_llava = false;       // the language of a LLaVA: there is a tower beside it
};

inline constexpr const char* kLlavaType = "llava";  // the model_type
inline constexpr const char* kPretrainedConfigFile = "config.json";
inline constexpr const char* kPretrainedWeightsFile = "model.safetensors";
inline constexpr const char* kPretrainedIndexFile = "model.safetensors.index.json";
inline constexpr const char* kGenerationConfigFile = "generation_config.json";

// Reads DIR/config.json of Qwen3, Qwen2 or Llama, or of a LLaVA with one of them, in the spelling of
// transformers 5 or of older ones. What it leaves out has the defaults of its class there. Throws one
// InputError with every mistake, with everything that a Language cannot do, and with every key that medley
// does not know; but for `ignored_keys`, which the user says to change nothing, and but for what an older
// medley let a run begin with where it has begun. So are ids of special tokens, here and in
// generation_config.json, that the table has no row of. A class that medley does not have is told alone.
PretrainedConfig ReadPretrainedConfig(const std::filesystem::path& directory,
                                      const std::vector<std::string>& ignored_keys = {},
                                      KeysOf whose = KeysOf::kUser);

// The class of transformers that computes the same; an InputError where there is none.
std::string ArchitectureOf(const LanguageConfig& language);
// A config.json that transformers reads, old and new, and that ReadPretrainedConfig reads to the same.
// `dtype`: of the weights, as torch calls it ("float32"). No token is named.
nlohmann::ordered_json ToJson(const PretrainedConfig& config, const std::string& dtype);

// What lies in a Hugging Face folder beside config.json and the weights, and makes them mean something else
// to other software: adapters and notes of quantization. One line each, with what to do; none where there is
// nothing. `adapters`: the folder whose adapters are applied, "" for none.
std::vector<std::string> FolderProblems(const std::filesystem::path& directory,
                                        const std::filesystem::path& adapters = {});

}  // namespace medley
