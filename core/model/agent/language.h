#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/model/agent/agent_config.h>
#include <medley/model/agent/operators.h>
#include <medley/model/parameter_set.h>

namespace medley {

// What every text layer of one forward sees besides its input.
struct TextInput {
  at::Tensor prefix;    // [rows, prefix length, hidden], or undefined; the same for all layers, never updated
  at::Tensor mask;      // [text length, prefix length + text length] additive
  at::Tensor selected;  // [items] int64 flat positions whose hidden states are wanted; undefined: all
};

// A Qwen3 decoder with the names of the published checkpoint. Images come as a prefix that is projected
// straight into the keys and values of every layer: the text sees it, it sees nothing.
class Language {
 public:
  // `vocabulary`: rows of the embedding table. The longest prefix and text together are `positions`.
  Language(ParameterSet& set, const AgentConfig::Language& config, std::int64_t vocabulary,
           std::int64_t positions);

  // ids [...] -> [..., hidden]
  at::Tensor Embed(const at::Tensor& ids) const;
  // [rows, length, hidden] -> states after the final norm: the same shape, or [items, hidden] where selected.
  at::Tensor Hidden(const at::Tensor& x, const TextInput& text, ForwardContext& context) const;
  // [..., hidden] -> [..., vocabulary], at least in float
  at::Tensor Logits(const at::Tensor& hidden) const;

  // The mask of TextInput: causal in the text, the prefix is seen by all.
  static at::Tensor Mask(std::int64_t prefix, std::int64_t length, const at::TensorOptions& options);

  std::int64_t positions() const { return rope_.cos.size(0); }
  void To(at::Device device, at::ScalarType dtype);

 private:
  struct Layer {
    at::Tensor input_norm, post_norm, q_norm, k_norm;
    Linear q, k, v, o, gate, up, down;
  };

  at::Tensor Attend(const Layer& layer, const at::Tensor& x, const TextInput& text) const;
  at::Tensor RunLayer(const Layer& layer, const at::Tensor& x, const TextInput& text, bool last) const;

  AgentConfig::Language config_;
  at::Tensor embedding_, head_, final_norm_;
  std::vector<Layer> layers_;
  RopeTables rope_;
};

}  // namespace medley
