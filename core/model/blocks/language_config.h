#pragma once

#include <algorithm>
#include <cstdint>

namespace medley {

// How attention is computed: kFused never keeps the weights [rows, heads, n, m]; kEager does, and may drop
// some.
enum class AttentionKind { kFused, kEager };

// Which maps of attention have a bias: none (Qwen3, Llama), those of queries, keys and values (Qwen2), or the
// output's too (attention_bias of the other two).
enum class AttentionBias { kNone, kQkv, kQkvo };

// How Llama 3.1 reaches longer texts than it began with: turns that take more than original_positions /
// low_freq_factor positions are slowed by the factor, those of less than original_positions /
// high_freq_factor stay, and between them it is blended.
struct RopeScaling {
  double factor = 1;  // 1: none of it
  double low_freq_factor = 1, high_freq_factor = 4;
  std::int64_t original_positions = 8192;
};

// 73 items of Qwen3's vocabulary.
inline constexpr std::int64_t kLossBytes = std::int64_t{128} << 20;

// Sizes of a Language. No tensors here, so that configs can be checked without.
struct LanguageConfig {
  std::int64_t hidden = 64, layers = 2, heads = 4, kv_heads = 2, head_dim = 16, ffn = 192;
  std::int64_t vocabulary = 0;  // rows of the embedding table; 0: the tokenizer's size
  bool grows = false;           // the table, where the tokenizer has more tokens than it has rows
  double rms_epsilon = 1e-6, rope_base = 1e6;
  bool tied = true;
  bool qk_norm = true;  // an RMSNorm over each head of queries and keys, before they are turned
  AttentionBias attention_bias = AttentionBias::kNone;
  RopeScaling rope_scaling{};
  AttentionKind attention = AttentionKind::kFused;
  // The most bytes of logits, and what losses make of them, at a time: see LossPieces. Of float64 twice that.
  std::int64_t loss_bytes = kLossBytes;
};

// Rows of the embedding table for a tokenizer of so many tokens; fewer than these where the config says so.
inline std::int64_t TableRows(const LanguageConfig& config, std::int64_t tokens) {
  if (config.vocabulary == 0) return tokens;
  return config.grows ? std::max(config.vocabulary, tokens) : config.vocabulary;
}

}  // namespace medley
