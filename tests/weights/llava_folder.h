#pragma once

// A small LLaVA of random weights.

#include <medley/model/blocks/language.h>
#include <medley/model/blocks/tower.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_files.h>
#include <medley/weights/pretrained_tower.h>
#include <medley/weights/pretrained_writer.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/report/scratch_directory.h"

namespace medley::test {

class LlavaFolder {
 public:
  explicit LlavaFolder(std::int64_t vocabulary, std::int64_t image_token, std::int64_t size = 128) {
    PretrainedConfig text;
    text.architecture = "Qwen2ForCausalLM", text.positions = 512;
    text.language = {.hidden = 16,
                     .layers = 2,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 4,
                     .ffn = 24,
                     .vocabulary = vocabulary,
                     .qk_norm = false,
                     .attention_bias = AttentionBias::kQkv};
    tower_ = {.kind = TowerKind::kSiglip,
              .size = size,
              .patch = size / 4,
              .width = 12,
              .layers = 2,
              .heads = 3,
              .ffn = 20,
              .epsilon = 1e-6,
              .activation = Activation::kTanhGelu,
              .rule = {.resizes = true},
              .image_token = image_token};
    WriteText(path() / "config.json", LlavaJson(tower_, ToJson(text, "float32"), "float32").dump(1));
    WriteText(path() / "preprocessor_config.json", PreprocessorJson(tower_).dump(1));
    ParameterSet set(11, at::kCPU);
    const PublishedRoots roots{.language = "", .tower = kTowerNames, .projector = kProjectorNames};
    const VisionTower tower(set, tower_, roots.tower);
    const Projector projector(set, tower_, text.language.hidden, roots.projector);
    const Language language(set, text.language, vocabulary, 8);
    WritePretrainedWeights(path(), set.list(), roots, at::kFloat);
  }

  const std::filesystem::path& path() const { return scratch_.path(); }
  const TowerConfig& tower() const { return tower_; }

 private:
  ScratchDirectory scratch_;
  TowerConfig tower_;
};

}  // namespace medley::test
