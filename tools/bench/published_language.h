#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include <medley/model/blocks/language.h>
#include <medley/model/parameter_set.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_weights.h>
#include <medley/weights/pretrained_writer.h>

namespace medley::bench {

constexpr std::int64_t kPositions = 4096;  // of the longest text

// Random weights with Qwen3-0.6B's shapes in bf16, where there are none yet.
inline void MakeFolder(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / kPretrainedConfigFile)) return;
  const PretrainedConfig config{.architecture = "Qwen3ForCausalLM",
                                .language = {.hidden = 1024,
                                             .layers = 28,
                                             .heads = 16,
                                             .kv_heads = 8,
                                             .head_dim = 128,
                                             .ffn = 3072,
                                             .vocabulary = 151936},
                                .positions = 40960};
  std::filesystem::create_directories(folder);
  ParameterSet set(1, at::kCPU);
  const Language language(set, config.language, config.language.vocabulary, kPositions);
  WritePretrainedWeights(folder, set.list(), {}, at::kBFloat16);
  std::ofstream(folder / kPretrainedConfigFile) << ToJson(config, "bfloat16").dump(1);
}

// The language of a Hugging Face folder, in float.
struct PublishedLanguage {
  explicit PublishedLanguage(const std::filesystem::path& folder)
      : config(ReadPretrainedConfig(folder).language),
        weights(Open(folder, config)),
        set(0, at::kCPU, {}, &weights.given()),
        language(set, config, config.vocabulary, kPositions) {
    weights.Fill(set.list(), {.count = config.vocabulary});
  }

  LanguageConfig config;
  PretrainedWeights weights;
  ParameterSet set;
  Language language;

 private:
  static PretrainedWeights Open(const std::filesystem::path& folder, const LanguageConfig& config) {
    ParameterSet shapes(0, at::kMeta);
    const Language meta(shapes, config, config.vocabulary, kPositions);
    return PretrainedWeights({.directory = folder, .root = "", .rows = config.vocabulary}, shapes.list());
  }
};

}  // namespace medley::bench
