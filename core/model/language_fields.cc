#include <medley/model/language_fields.h>

#include <array>
#include <string_view>

#include <medley/base/error.h>

namespace medley {
namespace {

constexpr std::array<std::string_view, 3> kBiases = {"none", "qkv", "qkvo"};  // as AttentionBias counts

AttentionBias BiasOf(const std::string& word) {
  for (std::size_t i = 0; i < kBiases.size(); ++i) {
    if (kBiases[i] == word) return static_cast<AttentionBias>(i);
  }
  throw Error("'" + word + "' is no attention_bias");
}

}  // namespace

LanguageConfig LanguageOf(const ModelConfig& config, const std::string& group) {
  const auto integer = [&](const char* name) { return config.Integer(group + "." + name); };
  const auto number = [&](const char* name) { return config.Number(group + "." + name); };
  return {.hidden = integer("hidden"),
          .layers = integer("layers"),
          .heads = integer("heads"),
          .kv_heads = integer("kv_heads"),
          .head_dim = integer("head_dim"),
          .ffn = integer("ffn"),
          .vocabulary = integer("vocabulary"),
          .grows = !config.pretrained().empty(),
          .rms_epsilon = number("rms_epsilon"),
          .rope_base = number("rope_base"),
          .tied = config.Switch(group + ".tied"),
          .qk_norm = config.Switch(group + ".qk_norm"),
          .attention_bias = BiasOf(config.Word(group + ".attention_bias")),
          .rope_scaling = {.factor = number("rope_factor"),
                           .low_freq_factor = number("rope_low_freq_factor"),
                           .high_freq_factor = number("rope_high_freq_factor"),
                           .original_positions = integer("rope_original_positions")}};
}

OptionValues FieldsOf(const LanguageConfig& language) {
  const auto number = [](std::int64_t integer) { return static_cast<double>(integer); };
  const RopeScaling& scaling = language.rope_scaling;
  return {{"hidden", number(language.hidden)},
          {"layers", number(language.layers)},
          {"heads", number(language.heads)},
          {"kv_heads", number(language.kv_heads)},
          {"head_dim", number(language.head_dim)},
          {"ffn", number(language.ffn)},
          {"vocabulary", number(language.vocabulary)},
          {"rms_epsilon", language.rms_epsilon},
          {"rope_base", language.rope_base},
          {"tied", language.tied},
          {"qk_norm", language.qk_norm},
          {"attention_bias", std::string(kBiases[static_cast<std::size_t>(language.attention_bias)])},
          {"rope_factor", scaling.factor},
          {"rope_low_freq_factor", scaling.low_freq_factor},
          {"rope_high_freq_factor", scaling.high_freq_factor},
          {"rope_original_positions", number(scaling.original_positions)}};
}

}  // namespace medley
