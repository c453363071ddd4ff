#include <medley/model/language_maps.h>

namespace medley {

std::vector<LinearMap> LinearMapsOf(const LanguageConfig& config) {
  const std::int64_t queries = config.heads * config.head_dim, keys = config.kv_heads * config.head_dim;
  std::vector<LinearMap> maps;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const auto add = [&](const char* part, std::int64_t in, std::int64_t out) {
      maps.push_back({"model.layers." + std::to_string(i) + "." + part, in, out});
    };
    add("self_attn.q_proj", config.hidden, queries);
    add("self_attn.k_proj", config.hidden, keys);
    add("self_attn.v_proj", config.hidden, keys);
    add("self_attn.o_proj", queries, config.hidden);
    add("mlp.gate_proj", config.hidden, config.ffn);
    add("mlp.up_proj", config.hidden, config.ffn);
    add("mlp.down_proj", config.ffn, config.hidden);
  }
  return maps;
}

}  // namespace medley
