#pragma once

#include <cstdint>

namespace medley {

// How attention is computed: kFused never keeps the weights [rows, heads, n, m]; kEager does, and may drop
// some.
enum class AttentionKind { kFused, kEager };

// Sizes of a Language. No tensors here, so that configs can be checked without.
struct LanguageConfig {
  std::int64_t hidden = 64, layers = 2, heads = 4, kv_heads = 2, head_dim = 16, ffn = 192;
  std::int64_t vocabulary = 0;  // rows of the embedding table; 0: the tokenizer's size
  double rms_epsilon = 1e-6, rope_base = 1e6;
  bool tied = true;
  AttentionKind attention = AttentionKind::kFused;
};

}  // namespace medley
