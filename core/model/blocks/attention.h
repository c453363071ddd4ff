#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>

#include <medley/model/blocks/dropout.h>
#include <medley/model/blocks/language_config.h>
#include <medley/model/parameter_set.h>

namespace medley {

// What of m keys n queries see.
struct AttentionMask {
  AttentionMask() = default;  // everything
  // NOLINTNEXTLINE(google-explicit-constructor): a tensor is a mask
  AttentionMask(at::Tensor tensor) : additive(std::move(tensor)) {}
  // Query i the keys [0, m - n + i]: the last one all of them, as a text behind a prefix that all see.
  // Fused attention on a GPU has kernels for that, and gets no tensor.
  static AttentionMask Causal(std::int64_t n, std::int64_t m, const at::TensorOptions& options,
                              AttentionKind kind);

  at::Tensor additive;  // of a shape that expands to [rows, heads, n, m], or undefined
  bool causal = false;  // without `additive`
};

// softmax(q k^T / sqrt(d) + mask) v, at least in float.
//   q [rows, heads, n, d], k and v [rows, kv heads, m, d]; kv heads divide heads
// -> [rows, n, heads * d]. Whoever sees nothing gets zeros. `on_weights`: of kEager only, else an Error.
at::Tensor Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const AttentionMask& mask = {}, AttentionKind kind = AttentionKind::kFused,
                  const Dropout& on_weights = {});

// Each head so many times, one copy after the other: [rows, heads, ...] -> [rows, heads * times, ...].
at::Tensor RepeatHeads(const at::Tensor& x, std::int64_t times);

// 0 where `sees` [...] (bool) is true, minus infinity elsewhere: a mask of the type of `like`.
at::Tensor AdditiveMask(const at::Tensor& sees, const at::Tensor& like);

// Attention of x over x, or over a context, with biases and no positions.
class Attention {
 public:
  struct Setting {
    std::int64_t width = 0, heads = 1;
    bool cross = false;  // queries from x, keys and values from a context
    AttentionKind kind = AttentionKind::kFused;
    double out_gain = 1;
  };
  Attention() = default;
  Attention(ParameterSet& set, const std::string& name, const Setting& setting);

  // x [rows, n, width] -> the same shape; masks as in Attend
  at::Tensor Self(const at::Tensor& x, const AttentionMask& mask = {}, const Dropout& on_weights = {}) const;
  // context [rows, m, width]
  at::Tensor Cross(const at::Tensor& x, const at::Tensor& context, const AttentionMask& mask = {},
                   const Dropout& on_weights = {}) const;

 private:
  std::int64_t heads_ = 0;
  AttentionKind kind_ = AttentionKind::kFused;
  Linear qkv_, q_, kv_, out_;
};

}  // namespace medley
