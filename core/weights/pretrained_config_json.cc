#include <nlohmann/json.hpp>

#include <medley/base/error.h>
#include <medley/weights/pretrained_config.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// Both spellings: transformers 5 reads rope_parameters, older ones rope_theta and rope_scaling.
void AddRope(const LanguageConfig& language, ordered_json& json) {
  const RopeScaling& scaling = language.rope_scaling;
  ordered_json factors = nullptr, rope = {{"rope_type", "default"}};
  if (scaling.factor != 1) {
    factors = {{"rope_type", "llama3"},
               {"factor", scaling.factor},
               {"low_freq_factor", scaling.low_freq_factor},
               {"high_freq_factor", scaling.high_freq_factor},
               {"original_max_position_embeddings", scaling.original_positions}};
    rope = factors;
  }
  rope["rope_theta"] = language.rope_base;
  json["rope_parameters"] = rope;
  json["rope_theta"] = language.rope_base;
  json["rope_scaling"] = factors;
}

}  // namespace

std::string ArchitectureOf(const LanguageConfig& language) {
  const bool qkv = language.attention_bias == AttentionBias::kQkv;
  if (language.qk_norm && !qkv) return "Qwen3ForCausalLM";
  if (!language.qk_norm && qkv) return "Qwen2ForCausalLM";
  if (!language.qk_norm && language.hidden % language.heads == 0) return "LlamaForCausalLM";
  throw InputError(
      language.qk_norm
          ? "no class of transformers has norms of queries and keys (qk_norm) and biases of qkv alone"
          : "transformers' LlamaConfig wants heads that divide the width; language.hidden is " +
                std::to_string(language.hidden) + ", language.heads " + std::to_string(language.heads));
}

ordered_json ToJson(const PretrainedConfig& config, const std::string& dtype) {
  const LanguageConfig& language = config.language;
  const bool is_llama = config.architecture == "LlamaForCausalLM",
             is_qwen3 = config.architecture == "Qwen3ForCausalLM";
  ordered_json json = {{"architectures", {config.architecture}},
                       {"model_type", is_llama   ? "llama"
                                      : is_qwen3 ? "qwen3"
                                                 : "qwen2"},
                       {"vocab_size", language.vocabulary},
                       {"hidden_size", language.hidden},
                       {"intermediate_size", language.ffn},
                       {"num_hidden_layers", language.layers},
                       {"num_attention_heads", language.heads},
                       {"num_key_value_heads", language.kv_heads},
                       {"head_dim", language.head_dim},
                       {"hidden_act", "silu"},
                       {"max_position_embeddings", config.positions},
                       {"rms_norm_eps", language.rms_epsilon},
                       {"tie_word_embeddings", language.tied},
                       {"attention_dropout", 0.0},
                       {"initializer_range", 0.02},
                       {"use_cache", true},
                       {"bos_token_id", nullptr},
                       {"eos_token_id", nullptr},
                       {"dtype", dtype},
                       {"torch_dtype", dtype}};
  if (config.architecture != "Qwen2ForCausalLM")
    json["attention_bias"] = language.attention_bias == AttentionBias::kQkvo;
  if (is_llama)
    json["mlp_bias"] = false;
  else
    json["use_sliding_window"] = false, json["sliding_window"] = nullptr;
  AddRope(language, json);
  return json;
}

}  // namespace medley
