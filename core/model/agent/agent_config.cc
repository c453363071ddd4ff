#include <medley/model/agent/agent_config.h>

#include <string>

#include <medley/model/agent/agent_spec.h>
#include <medley/model/language_fields.h>
#include <medley/model/model_info.h>
#include <medley/model/tower_fields.h>

namespace medley {
namespace {

AgentConfig::Stack StackOf(const ModelConfig& config, const std::string& group) {
  return {.layers = config.Integer(group + ".layers"),
          .heads = config.Integer(group + ".heads"),
          .ffn = config.Integer(group + ".ffn"),
          .pre_norm = config.Switch(group + ".pre_norm"),
          .dropout = config.Number(group + ".dropout")};
}

}  // namespace

AgentConfig::AgentConfig() : AgentConfig(ModelConfig(InfoOf(kAgentSpec))) {}

AgentConfig::AgentConfig(const ModelConfig& config)
    : language(LanguageOf(config, "language")),
      image{.size = config.Integer("image.size"),
            .patch = config.Integer("image.patch"),
            .mean = config.Number("image.mean"),
            .scale = config.Number("image.scale")},
      encoder(StackOf(config, "encoder")),
      decoder(StackOf(config, "decoder")),
      stem{.channels = config.Integer("encoder.stem"), .cell = config.Integer("encoder.stem_cell")},
      alpha(config.Switch("decoder.alpha")),
      tower(TowerOf(config, "tower", "image.size", "image.patch")) {
  language.loss_bytes = config.Integer("language.loss_bytes");
}

}  // namespace medley
